package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// maxLinks is how many links lead to a program at most, as in Linux.
const maxLinks = 40

// Trusted refuses a program of ours or of a backend that somebody else could have
// put there, or that a command under the profile could change for the next run.
// It wants an absolute path of an executable file; that file, the directory that
// it is in, and each link that leads to it with its own directory belong to root
// or to us, cannot be written to by anybody else, the group included, and lie
// where the command may not write.
func Trusted(path string, p sandbox.Profile) error {
	if !filepath.IsAbs(path) {
		return errors.New("its path must be absolute")
	}
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return causeOf(err)
		}
		at := filepath.Join(dir, filepath.Base(path))
		if writable := writableAt(at, p); writable != "" {
			return fmt.Errorf("it lies in %s, which the command may write to", writable)
		}
		if err := onlyOurs(dir); err != nil {
			return err
		}
		to, err := os.Readlink(at)
		if err != nil { // no link
			return trustedFile(at)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return errors.New("too many links lead to it")
}

func trustedFile(at string) error {
	switch err := checkProgram(at); {
	case errors.Is(err, os.ErrNotExist):
		return causeOf(err)
	case err != nil:
		return errors.New("it is no executable file")
	}
	return onlyOurs(at)
}

// writableAt is the directory in which a command under the profile may write to
// a path; "" if there is none. The path has no links but its last element.
func writableAt(path string, p sandbox.Profile) string {
	for _, dir := range append([]string{p.Workspace, p.Private.Temp, p.Private.Cache}, p.Write...) {
		if dir == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			real = dir // it may be made later
		}
		if path == real || strings.HasPrefix(path, strings.TrimSuffix(real, "/")+"/") {
			return dir
		}
	}
	return ""
}

// causeOf drops the path, which the error that it goes into says already.
func causeOf(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
