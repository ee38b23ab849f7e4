package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// maxLinks is how many links lead to a program at most, as in Linux.
const maxLinks = 40

// Trusted refuses a program of ours or of a backend that somebody else could have
// put there, or that a command under the profile could change for the next run.
// It wants an absolute path of an executable file. That file, every link on the way
// to it and every directory above them belong to root or to us and can be written
// to by nobody else, as OpenSSH wants it of its files (StrictModes); and the file
// and the links lie where the command may not write. What others can write to may
// stand above where it is sticky, as /tmp is: there they cannot move what is ours.
// It must not hold the program itself.
func Trusted(path string, p sandbox.Profile) error {
	if !filepath.IsAbs(path) {
		return errors.New("its path must be absolute")
	}
	w := way{profile: p, end: trustedFile}
	return w.walk(path)
}

// Guarded refuses a file that somebody else than root or us could change, or move
// by a directory above it, as Trusted does with programs.
func Guarded(path string) error {
	w := way{end: onlyOurs}
	return w.walk(path)
}

// way is how far the path of a file has been followed.
type way struct {
	profile sandbox.Profile
	end     func(path string, info fs.FileInfo) error // judges the file
	at      string                                    // a directory, without links
	open    error                                     // others can write to it, but it is sticky
	rest    []string
	links   int
}

// walk follows an absolute path to its end.
func (w *way) walk(path string) error {
	w.at, w.rest = filepath.VolumeName(path)+string(filepath.Separator), parts(path)
	if err := w.directory(); err != nil {
		return err
	}
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

func parts(path string) []string {
	return strings.FieldsFunc(path[len(filepath.VolumeName(path)):], func(r rune) bool { return os.IsPathSeparator(uint8(r)) })
}

// step follows one part of the path.
func (w *way) step() error {
	part, last := w.rest[0], len(w.rest) == 1
	w.rest = w.rest[1:]
	switch part {
	case ".":
		return nil
	case "..":
		w.at = filepath.Dir(w.at)
		return w.directory()
	}
	next := filepath.Join(w.at, part)
	info, err := os.Lstat(next)
	if err != nil {
		return causeOf(err)
	}
	isLink := info.Mode()&fs.ModeSymlink != 0
	if last || isLink {
		if writable := writableAt(next, w.profile); writable != "" {
			return fmt.Errorf("it lies in %s, which the command may write to", writable)
		}
	}
	switch {
	case last && w.open != nil:
		return w.open
	case isLink:
		return w.follow(next, info)
	case last:
		return w.end(next, info)
	}
	w.at = next
	return w.judge(info)
}

// directory judges the directory that was come to.
func (w *way) directory() error {
	info, err := os.Lstat(w.at)
	if err != nil {
		return causeOf(err)
	}
	return w.judge(info)
}

func (w *way) judge(info fs.FileInfo) error {
	w.open = nil
	err := onlyOurs(w.at, info)
	if err != nil && sticky(info) && ours(w.at, info) == nil {
		w.open = err
		return nil
	}
	return err
}

// follow goes where a link leads. It has a place and an owner, and no rights.
func (w *way) follow(link string, info fs.FileInfo) error {
	if w.links++; w.links > maxLinks {
		return errors.New("too many links lead to it")
	}
	if err := ours(link, info); err != nil {
		return err
	}
	to, err := os.Readlink(link)
	if err != nil {
		return causeOf(err)
	}
	w.rest = append(parts(to), w.rest...)
	if !filepath.IsAbs(to) {
		return nil
	}
	w.at = filepath.VolumeName(to) + string(filepath.Separator)
	return w.directory()
}

func trustedFile(at string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return errors.New("it is no executable file")
	}
	return onlyOurs(at, info)
}

func sticky(info fs.FileInfo) bool { return info.IsDir() && info.Mode()&fs.ModeSticky != 0 }

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
