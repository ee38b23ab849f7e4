package wrappers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// folder is where the scripts live below the home of the runtime.
const folder = "sandbox"

// Install writes the wrapper kind to home/sandbox/KIND.sh and returns that
// path, which is what the runtime is configured with. home is $PEPE_HOME; it
// is made (0700) when missing and may itself be reached through a link.
// Nothing below it is: a link in the place of the folder or of the script is
// refused. The script is replaced in one step, so that a runtime never starts
// half of one, and one that is right already is left alone.
func Install(kind, home, sbxPath string) (path string, err error) {
	text, err := Script(kind, sbxPath)
	if err != nil {
		return "", err
	}
	return place(kind, home, text)
}

// InstallStandalone is Install for a script that needs no sbx. It has the same
// name and takes the place of the other.
func InstallStandalone(kind, home string) (path string, err error) {
	text, err := Standalone(kind)
	if err != nil {
		return "", err
	}
	return place(kind, home, text)
}

func place(kind, home, text string) (path string, err error) {
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("wrapper %q: directory %q: want an absolute path", kind, home)
	}
	name := kind + ".sh"
	path = filepath.Join(home, folder, name)
	if err := install(home, name, text); err != nil {
		return "", fmt.Errorf("install wrapper %q: %w", path, cause(err))
	}
	return path, nil
}

// cause drops the call and the name of a file that nobody has heard of, such as the
// one beside the script that takes its place.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

func install(home, name, text string) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := openFolder(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	done, err := isCurrent(dir, name, text)
	if done || err != nil {
		return err
	}
	return replace(dir, name, text)
}

// openFolder makes and opens the folder, and sees to it that what it opened is
// a directory and no link. From there on only names inside it are used.
func openFolder(root *os.Root) (*os.Root, error) {
	switch err := root.Mkdir(folder, 0o755); {
	case err == nil:
		if err := root.Chmod(folder, 0o755); err != nil { // whatever the umask
			return nil, err
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	seen, err := root.Lstat(folder)
	if err != nil {
		return nil, err
	}
	if !seen.IsDir() {
		return nil, errors.New(folder + " is a link or no directory")
	}
	dir, err := root.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	if err != nil || !os.SameFile(seen, opened) {
		dir.Close()
		return nil, errors.New(folder + " changed while it was opened")
	}
	return dir, nil
}

// isCurrent reports whether the script is there with this text and mode. What
// is there and is no regular file is an error.
func isCurrent(dir *os.Root, name, text string) (bool, error) {
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, errors.New("is a link or no regular file")
	}
	if info.Mode().Perm() != 0o755 || info.Size() != int64(len(text)) {
		return false, nil
	}
	have, err := dir.ReadFile(name)
	return err == nil && string(have) == text, nil
}

// replace writes a new file beside the old one and moves it over it.
func replace(dir *os.Root, name, text string) (err error) {
	temp := "." + name + "." + strconv.Itoa(os.Getpid())
	if err := dir.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that died
		return err
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			dir.Remove(temp)
		}
	}()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := f.Chmod(0o755); err != nil { // whatever the umask
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return dir.Rename(temp, name)
}
