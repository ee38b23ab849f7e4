package container

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// findInit finds cmd/sbx-init: at the path that was given, else beside the program
// that runs. A command under the profile may not change it: what comes after runs
// it outside of any confinement of that command.
func findInit(engine, given string, p sandbox.Profile) (string, error) {
	at := given
	if given == "" {
		var err error
		if at, err = proc.Beside("sbx-init"); err != nil {
			return "", Unavailable(engine, "", fmt.Errorf("%w: install it beside sbx", err))
		}
	}
	if err := proc.Trusted(at, p); err != nil {
		return "", Unavailable(engine, "use "+at, err)
	}
	return at, nil
}

// IsSocket says whether a path is an absolute one of a socket.
func IsSocket(path string) bool {
	info, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && info.Mode().Type() == os.ModeSocket
}
