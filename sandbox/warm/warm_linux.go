// Package warm keeps the sandboxes of a backend between commands: one for each
// workspace and profile, found again by its name in a directory of the caller's.
// A command then starts without the engine, over a socket.
package warm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

// Idle is how long a sandbox waits for the next command before it ends.
const Idle = 30 * time.Minute

// Backend keeps the sandboxes of another one. It is safe for concurrent use, by
// processes too.
type Backend struct {
	sandbox.Starter
	// Signals, one of them, ends the start of a sandbox: there is no command yet that
	// could have it. May be nil.
	Signals <-chan os.Signal
	dir     string
	idle    time.Duration
}

// New keeps the sandboxes of a backend in a directory, which is made when need
// be. idle 0 is Idle.
func New(b sandbox.Starter, dir string, idle time.Duration) *Backend {
	if idle <= 0 {
		idle = Idle
	}
	return &Backend{Starter: b, dir: dir, idle: idle}
}

// Record is what a directory says about the sandbox in it.
type Record struct {
	Dir     string          `json:"-"`
	Key     string          `json:"key"`
	Backend string          `json:"backend"`
	Profile sandbox.Profile `json:"profile"`
	Warm    sandbox.Warm    `json:"warm"`
	Started time.Time       `json:"started"`
	Idle    time.Duration   `json:"idle_ns"`
}

const recordFile = "record.json"

// Open finds the sandbox of a profile, or starts it. A profile that names a
// single file (a runtime's script) would be another one each time: such a
// command gets a sandbox of its own.
func (b *Backend) Open(ctx context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if single(p) || p.Network == sandbox.NetworkRules { // the listener of a proxy is one for each sandbox
		return b.Starter.Open(ctx, p)
	}
	key, err := keyOf(b.Name(), p)
	if err != nil {
		return nil, err
	}
	s := &session{backend: b, profile: p, key: key}
	s.conn, err = s.dial(ctx)
	return s, err
}

func single(p sandbox.Profile) bool {
	return slices.ContainsFunc(p.Read, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && !info.IsDir()
	})
}

// keyOf names what a sandbox depends on.
func keyOf(backend string, p sandbox.Profile) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("name session: %w", err)
	}
	sum := sha256.Sum256(append([]byte(backend+"\n"), text...))
	return hex.EncodeToString(sum[:10]), nil
}

// session runs commands in one warm sandbox.
type session struct {
	backend *Backend
	profile sandbox.Profile
	key     string

	mu     sync.Mutex
	conn   *pid1.Conn // of the next command; may be nil
	record Record
}

// dial connects to the sandbox of the session. One at a time looks for it, so
// that many commands that begin together start one.
func (s *session) dial(ctx context.Context) (*pid1.Conn, error) {
	ctx, dialled := sandbox.UntilSignaled(ctx, s.backend.Signals)
	defer dialled()
	dir := filepath.Join(s.backend.dir, s.key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open session: %w: %w", err, sandbox.ErrStart)
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, fmt.Errorf("open session: %w: %w", err, sandbox.ErrStart)
	}
	defer unlock()
	if r, err := read(dir); err == nil {
		if conn, err := s.reuse(dir, r); err == nil {
			return conn, nil
		}
		// What is left of it, if anything, must not be taken for the new one.
		_ = s.backend.Stop(ctx, r.Profile, r.Warm)
	}
	_ = os.Remove(filepath.Join(dir, pid1.SocketName))
	_ = os.Remove(filepath.Join(dir, recordFile))
	w, err := s.backend.Start(ctx, s.profile, dir, s.backend.idle)
	if err != nil {
		return nil, err
	}
	r := Record{Dir: dir, Key: s.key, Backend: s.backend.Name(), Profile: s.profile, Warm: w, Started: time.Now(), Idle: s.backend.idle}
	if err := write(dir, r); err != nil {
		_ = s.backend.Stop(ctx, s.profile, w)
		return nil, fmt.Errorf("open session: %w: %w", err, sandbox.ErrStart)
	}
	s.record = r
	conn, err := pid1.DialAt(dir)
	if err != nil {
		return nil, fmt.Errorf("connect to session: %w: %w", err, sandbox.ErrStart)
	}
	return conn, nil
}

// reuse connects to a sandbox that was started before, if what it shares is
// still what the names mean.
func (s *session) reuse(dir string, r Record) (*pid1.Conn, error) {
	var setting pid1.Setting
	if err := json.Unmarshal(r.Warm.Setting, &setting); err != nil {
		return nil, err
	}
	for _, place := range setting.Places {
		if now, err := pid1.PlaceAt(place.Path); err != nil || now != place {
			return nil, errors.New("a shared directory was replaced")
		}
	}
	conn, err := pid1.DialAt(dir)
	if err == nil {
		s.record = r
	}
	return conn, err
}

// lock waits for the directory.
func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

func read(dir string) (Record, error) {
	r := Record{Dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

func write(dir string, r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, recordFile), text, 0o600)
}

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	s.mu.Lock()
	plan := s.record.Warm.Plan
	s.mu.Unlock()
	plan.Argv, plan.Dir, plan.Env = slices.Clone(c.Argv), c.DirIn(s.profile), sandbox.VariableNames(c.Env)
	plan.Enforced, plan.Gaps = slices.Clone(s.record.Warm.Enforced), slices.Clone(s.record.Warm.Gaps)
	return plan, nil
}

// Run runs a command in the sandbox, which is started again when it has ended
// meanwhile.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	conn, setting, err := s.next(ctx)
	if err != nil {
		return sandbox.Result{Backend: s.backend.Name(), Ending: sandbox.NotStarted, ExitCode: 125}, err
	}
	defer conn.Close()
	result, err := conn.Run(ctx, c, setting)
	result.Backend, result.Identity = s.backend.Name(), s.profile.Identity
	if err == nil {
		result.Enforced, result.Gaps = slices.Clone(s.record.Warm.Enforced), slices.Clone(s.record.Warm.Gaps)
	}
	return result, err
}

func (s *session) next(ctx context.Context) (*pid1.Conn, pid1.Setting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var setting pid1.Setting
	conn := s.conn
	s.conn = nil
	if conn == nil {
		var err error
		if conn, err = s.dial(ctx); err != nil {
			return nil, setting, err
		}
	}
	if err := json.Unmarshal(s.record.Warm.Setting, &setting); err != nil {
		_ = conn.Close()
		return nil, setting, fmt.Errorf("read session: %w: %w", err, sandbox.ErrStart)
	}
	return conn, setting, nil
}

// Close lets go of the connection. The sandbox lives on.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn = nil
	return err
}

// List returns the sandboxes below a directory that take commands, and removes
// what ended ones left.
func List(dir string) ([]Record, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var list []Record
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		r, err := read(at)
		if err != nil {
			continue // being started, or not ours
		}
		conn, err := pid1.DialAt(at)
		if err != nil {
			_ = os.RemoveAll(at)
			continue
		}
		_ = conn.Close()
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Record) int { return a.Started.Compare(b.Started) })
	return list, nil
}

// Stop ends a sandbox and forgets it.
func Stop(ctx context.Context, b sandbox.Starter, r Record) error {
	unlock, err := lock(r.Dir)
	if err != nil {
		return fmt.Errorf("stop session: %w", err)
	}
	defer unlock()
	if err := b.Stop(ctx, r.Profile, r.Warm); err != nil {
		return err
	}
	return os.RemoveAll(r.Dir)
}
