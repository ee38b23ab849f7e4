package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// defaultPath is searched when the command's environment has no PATH.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Lookup finds the program: a name with a slash is taken from dir, any other is
// searched in the PATH of the command's own environment. Entries of PATH that
// are not absolute are left out: which program runs must not depend on where
// the command starts. The error is of fs.ErrNotExist or fs.ErrPermission.
func Lookup(name string, env []string, dir string) (string, error) {
	if name == "" {
		return "", fs.ErrNotExist
	}
	if strings.ContainsRune(name, '/') {
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
		}
		// The name is used as it was written: a script sees it as $0.
		return name, checkProgram(at)
	}
	found := fs.ErrNotExist
	for entry := range strings.SplitSeq(searchPath(env), string(filepath.ListSeparator)) {
		if !filepath.IsAbs(entry) {
			continue
		}
		at := filepath.Join(entry, name)
		switch checkProgram(at) {
		case nil:
			return at, nil
		case fs.ErrPermission: // there, but not executable; a directory that cannot be searched is not there
			found = fs.ErrPermission
		}
	}
	return "", found
}

func searchPath(env []string) string {
	path := defaultPath
	for _, entry := range env { // the last one wins, as in os/exec
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	return path
}

func checkProgram(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return syscall.EACCES
	}
	if info.Mode().Perm()&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR}
	}
	return nil
}
