package secretsenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	execPrefix = "exec:"
	filePrefix = "file:"

	execTime    = 15 * time.Second // of a command that fetches a secret
	cacheTime   = 60 * time.Second // of what was found
	secretBytes = 64 << 10         // the longest secret
)

// vaultEnv are the variables that a command gets beside those of
// secrets.vault_env: enough to find a vault and to ask its agent.
var vaultEnv = [...]string{"HOME", "PATH", "USER", "LANG", "TERM", "SSH_AUTH_SOCK"}

// IsReference reports a setting that names a secret instead of being one as a
// whole: ${NAME}, exec:COMMAND, file:PATH.
func IsReference(setting string) bool {
	_, ok := wholeVariable(setting)
	return ok || strings.HasPrefix(setting, execPrefix) || strings.HasPrefix(setting, filePrefix)
}

// HasReference reports a setting that is a reference, or has a ${NAME} in it.
func HasReference(setting string) bool {
	if IsReference(setting) {
		return true
	}
	found := false
	interpolate(setting, func(string) string { found = true; return "" })
	return found
}

// Resolver finds the values that settings refer to. What it found is kept in
// memory for a minute, what it did not find is asked for again each time. No
// value is in an error, and none reaches the disk. It is safe for concurrent use.
type Resolver struct {
	environ []string
	vault   []string

	mu    sync.Mutex
	found map[string]*entry
}

type entry struct {
	mu    sync.Mutex // held while the value is fetched: a vault is asked once
	value string
	until time.Time // with the monotonic clock
}

// NewResolver looks into an environment of NAME=value entries. A command of
// exec: gets six of them (HOME, PATH, USER, LANG, TERM, SSH_AUTH_SOCK) and those
// that vault names (secrets.vault_env).
func NewResolver(environ, vault []string) *Resolver {
	return &Resolver{environ: environ, vault: vault, found: map[string]*entry{}}
}

// UnsetError says why a setting has no value. It never holds one.
type UnsetError struct {
	Setting string // the reference
	Why     string
}

func (e *UnsetError) Error() string { return e.Setting + ": " + e.Why }

// Resolve gives the value that a setting stands for. One that refers to nothing
// stands for itself. The error is an *UnsetError: a variable that is not set, a
// command that fails, is empty or too slow, a file that cannot be read. That
// reads as "not configured", never as an empty or a partial secret. In a longer
// text a ${NAME} that is not set becomes nothing, as in Pepe.
func (r *Resolver) Resolve(ctx context.Context, setting string) (string, error) {
	if name, ok := wholeVariable(setting); ok {
		value, set := r.getenv(name)
		if !set {
			return "", &UnsetError{setting, "the variable is not set"}
		}
		return value, nil
	}
	command, isExec := strings.CutPrefix(setting, execPrefix)
	path, isFile := strings.CutPrefix(setting, filePrefix)
	switch {
	case isExec:
		return r.cached(setting, func() (string, error) { return r.run(ctx, command) })
	case isFile:
		return r.cached(setting, func() (string, error) { return r.read(path) })
	}
	return interpolate(setting, func(name string) string {
		value, _ := r.getenv(name)
		return value
	}), nil
}

// Check is Resolve for a person: it also objects to a ${NAME} in a longer text that
// is not set, and says nothing of the value.
func (r *Resolver) Check(ctx context.Context, setting string) error {
	if IsReference(setting) {
		_, err := r.Resolve(ctx, setting)
		return err
	}
	missing := ""
	interpolate(setting, func(name string) string {
		if _, set := r.getenv(name); !set && missing == "" {
			missing = name
		}
		return ""
	})
	if missing != "" {
		return &UnsetError{setting, "the variable " + missing + " is not set"}
	}
	return nil
}

// Flush forgets what was found.
func (r *Resolver) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.found)
}

// Values lists what was found by exec: and file: within the last minute: they are
// secrets whose text is known.
func (r *Resolver) Values() []string {
	r.mu.Lock()
	entries := make([]*entry, 0, len(r.found))
	for _, e := range r.found {
		entries = append(entries, e)
	}
	r.mu.Unlock()
	var list []string
	for _, e := range entries {
		e.mu.Lock()
		if e.value != "" {
			list = append(list, e.value)
		}
		e.mu.Unlock()
	}
	return list
}

func (r *Resolver) cached(setting string, fetch func() (string, error)) (string, error) {
	r.mu.Lock()
	e := r.found[setting]
	if e == nil {
		e = &entry{}
		r.found[setting] = e
	}
	r.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.value != "" && time.Now().Before(e.until) {
		return e.value, nil
	}
	e.value = ""
	value, err := fetch()
	if err != nil {
		return "", &UnsetError{setting, err.Error()}
	}
	e.value, e.until = value, time.Now().Add(cacheTime)
	return value, nil
}

func (r *Resolver) getenv(name string) (value string, set bool) {
	for _, e := range r.environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value, set = v, true // the last one counts, as in os/exec
		}
	}
	return value, set
}

// run fetches a secret by a shell command. Its standard error is not kept: a
// vault may repeat there what it was asked with.
func (r *Resolver) run(ctx context.Context, command string) (string, error) {
	if strings.TrimSpace(command) == "" {
		return "", errors.New("there is no command")
	}
	ctx, cancel := context.WithTimeout(ctx, execTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Env = []string{}
	for _, list := range [][]string{vaultEnv[:], r.vault} {
		for _, name := range list {
			if value, ok := r.getenv(name); ok {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
		}
	}
	var out bounded
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // for what it left behind with our pipe
	endAll(cmd)
	err := cmd.Run()
	value := strings.TrimSpace(string(out.text))
	var exit *exec.ExitError
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return "", fmt.Errorf("the command did not end within %v", execTime)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit):
		return "", fmt.Errorf("the command ended with %v", exit.ProcessState)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // that one left a daemon behind
		return "", fmt.Errorf("the command could not be run: %w", err)
	case out.over:
		return "", fmt.Errorf("the command printed more than %d KiB", secretBytes>>10)
	case value == "":
		return "", errors.New("the command printed nothing")
	}
	return value, nil
}

// read fetches a secret from a file. It does not wait for a pipe.
func (r *Resolver) read(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, _ := r.getenv("HOME")
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		return "", errors.New("the path is not absolute")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, secretBytes+1))
	value := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return "", errors.Unwrap(err)
	case len(data) > secretBytes:
		return "", fmt.Errorf("the file is longer than %d KiB", secretBytes>>10)
	case value == "":
		return "", errors.New("the file is empty")
	}
	return value, nil
}

// bounded keeps the beginning of what is written.
type bounded struct {
	text []byte
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), secretBytes-len(b.text))]
	b.over = b.over || len(kept) < len(p)
	b.text = append(b.text, kept...)
	return len(p), nil
}

// wholeVariable is the NAME of a setting that is ${NAME} and nothing else.
func wholeVariable(setting string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(setting, "${")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(rest, "}")
	return name, ok && isVariable(name)
}

// isVariable reports the names that Pepe reads: ${my_name} is a text.
func isVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && !isDigit(c) && (c < 'A' || 'Z' < c) {
			return false
		}
	}
	return name != ""
}

// interpolate replaces each ${NAME} in a text.
func interpolate(text string, value func(name string) string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "${")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !isVariable(name) {
			b.WriteString("${")
			text = rest
			continue
		}
		b.WriteString(value(name))
		text = after
	}
}
