// Package config reads the one configuration file, which sbx shares with
// Pepe. Keys of Pepe are left alone; the keys of sbx are checked, because a
// setting that is not understood may have been meant to confine.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// maxBytes bounds the file. Pepe's own configuration stays far below 1 MiB.
const maxBytes = 8 << 20

// Config is what the file says. The zero value is what no file says: nothing.
type Config struct {
	Path  string `json:"path,omitempty"` // "" when there is no place to look
	Found bool   `json:"found"`

	Sandbox    string   `json:"sandbox,omitempty"`    // Pepe's wrapper, "" is none
	References []string `json:"references,omitempty"` // sorted names of every ${NAME}, anywhere
	VaultEnv   []string `json:"vault_env,omitempty"`  // secrets.vault_env
	ExposeEnv  []string `json:"expose_env,omitempty"` // secrets.expose_env
	// RedactOutput is secrets.redact_output, nil when the file does not say: whether
	// what has the shape of a credential is taken out of output.
	RedactOutput *bool    `json:"redact_output,omitempty"`
	Redact       bool     `json:"redact,omitempty"`   // sbx.redact
	Backends     []string `json:"backends,omitempty"` // sbx.backend: one, or an order
	Slots        Slots    `json:"slots,omitzero"`
	AcceptGaps   []string `json:"accept_gaps,omitempty"` // sbx.accept_gaps
	Require      []string `json:"require,omitempty"`     // sbx.require
	// Network is "on", "off", "auto", "allow:…", or "" when the file does not say.
	Network   string   `json:"network,omitempty"`
	AllowTags []string `json:"allow_tags,omitempty"` // sbx.allow_tags
	Proxy     string   `json:"proxy,omitempty"`      // sbx.proxy: absolute path of sbx-proxy
	// Explain is "writes", "reads", "off", or "" when the file does not say.
	Explain string `json:"explain_denials,omitempty"`
	// Timeout is the wall time, nil when the file does not say. 0 is no limit.
	Timeout   *time.Duration `json:"timeout_ns,omitempty"`
	Limits    Limits         `json:"limits,omitzero"`    // sbx.limits
	Container Container      `json:"container,omitzero"` // sbx.container
	Helpers   []Helper       `json:"helpers,omitempty"`  // sbx.helpers
	Wrappers  []Wrapper      `json:"wrappers,omitempty"` // sbx.wrappers
	SSH       SSH            `json:"ssh,omitzero"`       // sbx.ssh
	// Absolute paths; Load has put the home directory in place of "~".
	AllowWrite []string `json:"allow_write,omitempty"`
	AllowRead  []string `json:"allow_read,omitempty"`
	Hide       []string `json:"hide,omitempty"`
	GuardAllow []Allow  `json:"guard_allow,omitempty"` // sbx.guard.allow
	Audit      string   `json:"audit,omitempty"`       // sbx.audit, absolute
	// Absolute, or relative to the workspace.
	Protect       []string `json:"protect,omitempty"`        // sbx.protect
	Unprotect     []string `json:"unprotect,omitempty"`      // sbx.unprotect
	ProtectStrict bool     `json:"protect_strict,omitempty"` // sbx.protect_strict
	ReadOnly      bool     `json:"read_only,omitempty"`      // sbx.read_only
	// Temp is "run", "keep", or "" when the file does not say.
	Temp string `json:"temp,omitempty"` // sbx.temp
	// PreviewSize is sbx.preview.size in bytes, PreviewKeep is sbx.preview.keep; 0
	// when the file does not say.
	PreviewSize int64            `json:"preview_size,omitempty"`
	PreviewKeep time.Duration    `json:"preview_keep_ns,omitempty"`
	Ask         bool             `json:"ask,omitempty"`          // sbx.ask
	Grants      []string         `json:"auto_approve,omitempty"` // sbx.auto_approve: of calls that name no agent
	Agents      map[string]Agent `json:"agents,omitempty"`       // agents
	Policies    []Policy         `json:"policies,omitempty"`     // sbx.policies
	// Unknown are the keys below "sbx" that nobody reads, e.g. "sbx.netwrok",
	// in the order of the file. Keys elsewhere are Pepe's.
	Unknown []string `json:"unknown,omitempty"`
}

// Error says what is wrong with a configuration and where. Line and Col count
// from 1 and are 0 when the place is a key or the whole file.
type Error struct {
	Path      string
	Line, Col int
	Key       string // e.g. "sbx.timeout"
	Err       error
}

func (e *Error) Error() string {
	place := ""
	if e.Line > 0 {
		place = fmt.Sprintf("%d:%d: ", e.Line, e.Col)
	}
	if e.Key != "" {
		place += e.Key + ": "
	}
	return fmt.Sprintf("config %q: %s%v", e.Path, place, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Locate names the file: $PEPE_CONFIG, else $PEPE_HOME/config.json, else
// ~/.pepe/config.json. It is "" when none of the three is set. A relative path
// is refused: it would let the directory a command runs in choose the file.
func Locate(getenv func(string) string) (string, error) {
	for _, from := range [...]struct{ name, rest string }{
		{"PEPE_CONFIG", ""},
		{"PEPE_HOME", "config.json"},
		{"HOME", homeFile},
	} {
		value := getenv(from.name)
		if value == "" {
			continue
		}
		if !filepath.IsAbs(value) {
			return "", fmt.Errorf("locate configuration: %s %q: want an absolute path", from.name, value)
		}
		return filepath.Join(value, from.rest), nil
	}
	return "", nil
}

// homeFile is the place of the file below the home directory.
const homeFile = ".pepe/config.json"

// outOfReach says that home lies in, or is, a directory of somebody else's that
// the caller may not enter: a container started with a user of its own often has
// such a HOME. No file of the caller's can be there. In a directory of the
// caller's own it could, and a command may have changed the mode.
func outOfReach(home string) bool {
	for dir := filepath.Clean(home); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil {
			return info.IsDir() && !ours(info)
		}
		if !errors.Is(err, fs.ErrPermission) || dir == filepath.Dir(dir) {
			return false
		}
	}
}

// Load finds and reads the file. No file is no error and an empty Config; a
// file that cannot be read or understood is an error, because it may have said
// something that confines.
func Load(getenv func(string) string) (Config, error) {
	path, err := Locate(getenv)
	if err != nil || path == "" {
		return Config{}, err
	}
	c, err := Read(path)
	home := getenv("HOME")
	if errors.Is(err, fs.ErrPermission) && getenv("PEPE_CONFIG") == "" && getenv("PEPE_HOME") == "" && outOfReach(home) {
		return Config{Path: path}, nil
	}
	if err != nil {
		return Config{Path: path}, err
	}
	if err := c.expandHome(getenv("HOME")); err != nil {
		return Config{Path: path}, err
	}
	return c, nil
}

// Read reads one file. Paths in it keep their "~".
func Read(path string) (Config, error) {
	data, err := readRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{Path: path}, nil
	}
	if err != nil {
		return Config{}, &Error{Path: path, Err: err}
	}
	return Parse(path, data)
}

// readRegular reads a regular file of bounded size. It neither waits for a
// pipe nor drains a device. A link that leads nowhere is an error: somebody
// meant a file to be there.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if _, linkErr := os.Lstat(path); linkErr == nil && errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("is a link that leads nowhere")
		}
		return nil, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, cause(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, cause(err)
	case len(data) > maxBytes:
		return nil, fmt.Errorf("larger than %d MiB", maxBytes>>20)
	}
	return data, nil
}

// cause drops "open PATH", which Error says already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// expandHome puts home in place of a leading "~".
func (c *Config) expandHome(home string) error {
	for i, a := range c.GuardAllow {
		one := []string{a.Path}
		if err := c.expand(fmt.Sprintf("sbx.guard.allow[%d].path", i), one, home, false); err != nil {
			return err
		}
		c.GuardAllow[i].Path = one[0]
	}
	for i, p := range c.Policies {
		one := []string{p.Path}
		if err := c.expand(fmt.Sprintf("sbx.policies[%d].path", i), one, home, false); err != nil {
			return err
		}
		c.Policies[i].Path = one[0]
	}
	for _, list := range [...]struct {
		key   string
		paths []string
	}{{"sbx.allow_write", c.AllowWrite}, {"sbx.allow_read", c.AllowRead}, {"sbx.hide", c.Hide}, {"sbx.protect", c.Protect}, {"sbx.unprotect", c.Unprotect}} {
		if err := c.expand(list.key, list.paths, home, true); err != nil {
			return err
		}
	}
	for _, file := range [...]struct {
		key  string
		path *string
	}{{"sbx.audit", &c.Audit}, {"sbx.proxy", &c.Proxy}} {
		one := []string{*file.path}
		if err := c.expand(file.key, one, home, false); err != nil {
			return err
		}
		*file.path = one[0]
	}
	return nil
}

func (c *Config) expand(key string, paths []string, home string, numbered bool) error {
	for i, p := range paths {
		if p != "~" && !strings.HasPrefix(p, "~/") {
			continue
		}
		if !filepath.IsAbs(home) {
			if numbered {
				key = fmt.Sprintf("%s[%d]", key, i)
			}
			return &Error{Path: c.Path, Key: key, Err: fmt.Errorf("%q needs HOME, which is not set", p)}
		}
		paths[i] = filepath.Join(home, p[1:])
	}
	return nil
}
