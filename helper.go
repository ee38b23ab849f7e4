package sbx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sbx-run/sbx/sandbox"
)

// HelperError: a program that sbx starts beside itself is missing, or lies where
// others could put another one in its place; nothing ran.
type HelperError struct {
	Name string // e.g. "sbx-proxy"
	Path string // where it was looked for; may be empty
	Why  string
}

func (e *HelperError) Error() string {
	at := ""
	if e.Path != "" {
		at = " at " + e.Path
	}
	return fmt.Sprintf("find %s%s: %s; put it beside sbx, or name it by an absolute path (sbx.proxy in the configuration, Options.Proxy)", e.Name, at, e.Why)
}

// Unwrap makes errors.Is(err, sandbox.ErrUnavailable) true.
func (e *HelperError) Unwrap() error { return sandbox.ErrUnavailable }

// FindProxy finds sbx-proxy as a run with rules would, for a command that can
// write to no further place.
func FindProxy(configured string) (string, error) { return findHelper("sbx-proxy", configured, nil) }

// findHelper finds a program of ours: at the configured path, else beside this
// program, else in the folder libexec/sbx beside the folder of this program. It is
// never searched on PATH, which may hold directories of the workspace.
func findHelper(name, configured string, writable []string) (string, error) {
	if configured != "" {
		if !filepath.IsAbs(configured) {
			return "", &HelperError{name, configured, "want an absolute path"}
		}
		return checkHelper(name, configured, writable)
	}
	own, err := os.Executable()
	if err != nil {
		return "", &HelperError{name, "", "this program does not know where it lies: " + err.Error()}
	}
	dir := filepath.Dir(realPath(own))
	beside := filepath.Join(dir, name)
	for _, at := range [...]string{beside, filepath.Join(filepath.Dir(dir), "libexec", "sbx", name)} {
		if _, err := os.Lstat(at); err == nil {
			return checkHelper(name, at, writable)
		}
	}
	return "", &HelperError{name, beside, "it is not there"}
}

// checkHelper resolves a path and refuses a program that somebody else than the
// caller and root could change.
func checkHelper(name, at string, writable []string) (string, error) {
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", &HelperError{name, at, plainCause(err)}
	}
	if inAny(real, writable) {
		return "", &HelperError{name, real, "a command can write there"}
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", &HelperError{name, real, plainCause(err)}
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return "", &HelperError{name, real, "it is no executable file"}
	case othersWrite(info):
		return "", &HelperError{name, real, "others can write to it"}
	}
	parent, err := os.Stat(filepath.Dir(real))
	if err != nil {
		return "", &HelperError{name, real, plainCause(err)}
	}
	if othersWrite(parent) {
		return "", &HelperError{name, real, "others can write to its directory"}
	}
	return real, nil
}

// othersWrite reports whether another user than the caller and root can write
// to a file. Where files have no owner it is not known, and false.
func othersWrite(info os.FileInfo) bool {
	id := identify(info)
	if id.uid != callerUID() && id.uid != 0 {
		return true
	}
	const group, world = 0o020, 0o002
	return info.Mode()&world != 0 || info.Mode()&group != 0 && id.gid != 0 && id.gid != uint32(os.Getgid())
}

// plainCause drops the path, which the error that it goes into says already.
func plainCause(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}
