package proc

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// Trusted refuses a program of a backend that somebody else could have put
// there, or that a command under the profile could change for the next run.
func Trusted(path string, p sandbox.Profile) error {
	if !filepath.IsAbs(path) {
		return errors.New("its path must be absolute")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, dir := range append([]string{p.Workspace, p.Private.Temp, p.Private.Cache}, p.Write...) {
		if dir != "" && (real == dir || strings.HasPrefix(real, strings.TrimSuffix(dir, "/")+"/")) {
			return fmt.Errorf("it lies in %s, which the command may write to", dir)
		}
	}
	return onlyOurs(real, filepath.Dir(real), filepath.Dir(path))
}
