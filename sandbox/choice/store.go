package choice

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Store keeps measurements in a directory, one file for each backend. A nil
// Store keeps nothing. It is safe for concurrent use, also by several processes.
type Store struct {
	dir func() string
	key func() string
}

// NewStore returns a store in the directory that dir names, which is made when
// something is kept; with "" nothing is. dir is asked when a measurement is needed.
// getenv tells what decides which engine is meant.
func NewStore(dir func() string, getenv func(string) string) *Store {
	return &Store{dir: sync.OnceValue(dir), key: sync.OnceValue(func() string { return hostKey(getenv) })}
}

// variables decide what a backend finds.
var variables = [...]string{
	"PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST", "CONTAINERD_ADDRESS", "CONTAINERD_NAMESPACE", "XDG_RUNTIME_DIR",
}

// hostKey names all that a measurement depends on and that can be looked at
// cheaply: who asks, in which namespaces, under which settings of the kernel, with
// which programs of ours.
func hostKey(getenv func(string) string) string {
	var parts []string
	for _, name := range variables {
		parts = append(parts, getenv(name))
	}
	parts = append(parts, fmt.Sprint(os.Geteuid(), os.Getegid()))
	parts = append(parts, kernelFacts()...)
	if self, err := os.Executable(); err == nil {
		parts = append(parts, fileFacts(self)...)
		entries, _ := os.ReadDir(filepath.Join(filepath.Dir(filepath.Dir(self)), "libexec"))
		for _, e := range entries {
			parts = append(parts, e.Name())
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// fileFacts tell one build of a program from another without reading it all.
func fileFacts(path string) []string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return []string{path}
	}
	info, err := os.Stat(real)
	if err != nil {
		return []string{real}
	}
	return []string{real, fmt.Sprint(info.Size()), info.ModTime().UTC().Format(time.RFC3339Nano)}
}

// record is one file of the store.
type record struct {
	Key          string               `json:"key"`
	When         time.Time            `json:"when"`
	Capabilities sandbox.Capabilities `json:"capabilities"`
	Error        string               `json:"error,omitempty"`
	Unsupported  bool                 `json:"unsupported,omitempty"` // the kind of the error
}

const maxRecord = 256 << 10 // bytes

func (s *Store) path(backend string) string {
	return filepath.Join(s.dir(), hex.EncodeToString([]byte(backend))+".json")
}

// Last gives the last measurement of a backend, however old, and whether the host
// still looks as it did then.
func (s *Store) Last(b sandbox.Backend) (m Measured, same, ok bool) {
	if s == nil || s.dir() == "" {
		return Measured{}, false, false
	}
	f, err := os.Open(s.path(b.Name()))
	if err != nil {
		return Measured{}, false, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return Measured{}, false, false
	}
	var r record
	if err := json.NewDecoder(io.LimitReader(f, maxRecord)).Decode(&r); err != nil || r.Capabilities.Backend != b.Name() {
		return Measured{}, false, false
	}
	m = Measured{Capabilities: r.Capabilities, When: r.When, backend: b}
	if r.Error != "" {
		m.Err = &remembered{r.Error, sandbox.ErrUnavailable}
		if r.Unsupported {
			m.Err = &remembered{r.Error, sandbox.ErrUnsupported}
		}
	}
	return m, r.Key == s.key(), true
}

// fresh is Last where it can still be believed.
func (s *Store) fresh(b sandbox.Backend) (Measured, bool) {
	m, same, ok := s.Last(b)
	if !ok || !same {
		return Measured{}, false
	}
	limit := believed
	switch {
	case m.Err != nil:
		limit = believedFailed
	case m.Capabilities.Apart:
		limit = believedApart
	}
	age := time.Since(m.When)
	return m, age >= 0 && age < limit
}

// save keeps a measurement. One that cannot be kept is made again.
func (s *Store) save(m Measured) {
	if s == nil || s.dir() == "" {
		return
	}
	r := record{Key: s.key(), When: m.When.UTC(), Capabilities: m.Capabilities}
	if m.Err != nil {
		r.Error, r.Unsupported = m.Err.Error(), errors.Is(m.Err, sandbox.ErrUnsupported)
	}
	text, err := json.Marshal(r)
	if err != nil || os.MkdirAll(s.dir(), 0o700) != nil {
		return
	}
	temp, err := os.CreateTemp(s.dir(), ".new-")
	if err != nil {
		return
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), s.path(m.backend.Name()))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(temp.Name())
	}
}

// remembered is an error of an earlier measurement.
type remembered struct {
	text string
	kind error
}

func (e *remembered) Error() string { return e.text }
func (e *remembered) Unwrap() error { return e.kind }
