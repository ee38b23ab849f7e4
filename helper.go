package sbx

import (
	"fmt"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
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

const proxyName = "sbx-proxy"

// FindProxy finds sbx-proxy as a run with rules would, for a command that can
// write to no further place.
func FindProxy(configured string) (string, error) { return findProxy(configured, sandbox.Profile{}) }

// findProxy finds sbx-proxy at the configured path, else beside this program, and
// refuses one that somebody else or a command under the profile could change.
func findProxy(configured string, p sandbox.Profile) (string, error) {
	at := configured
	if at == "" {
		var err error
		if at, err = proc.Beside(proxyName); err != nil {
			return "", &HelperError{Name: proxyName, Why: err.Error()}
		}
	}
	if err := proc.Trusted(at, p); err != nil {
		return "", &HelperError{proxyName, at, err.Error()}
	}
	// What was looked at is what is started, wherever a link leads by then.
	file, err := proc.EvalSymlinks(at)
	if err != nil {
		return "", &HelperError{proxyName, at, err.Error()}
	}
	return file, nil
}
