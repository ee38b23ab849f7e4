package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx"
)

// sink is where the Result goes: nowhere, a descriptor, or a file.
//
// A file is opened only after the run, as a new file that then takes the name:
// the command, which may well be able to write where it lies, can neither forge
// the content nor lead it elsewhere with a link. The directory is opened before
// the run, so that exchanging it changes nothing either.
type sink struct {
	file *os.File
	root *os.Root
	name string
}

// openSink understands --result. Anything that can go wrong goes wrong here,
// before the command runs.
func openSink(dest string) (*sink, error) {
	if dest == "" {
		return &sink{}, nil
	}
	if fd, ok := descriptor(dest); ok {
		if err := inherited(fd); err != nil {
			return &sink{}, fmt.Errorf("use descriptor %d for the result: %w", fd, err)
		}
		return &sink{file: os.NewFile(uintptr(fd), "result")}, nil
	}
	info, err := os.Lstat(dest)
	if err == nil && info.IsDir() {
		return &sink{}, fmt.Errorf("write result %q: it is a directory", dest)
	}
	if err == nil && info.Mode()&(os.ModeDevice|os.ModeNamedPipe) != 0 {
		f, err := os.OpenFile(dest, os.O_WRONLY, 0)
		if err != nil {
			return &sink{}, fmt.Errorf("write result: %w", err)
		}
		return &sink{file: f}, nil
	}
	root, err := os.OpenRoot(filepath.Dir(dest))
	if err != nil {
		return &sink{}, fmt.Errorf("write result %q: %w", dest, err)
	}
	s := &sink{root: root, name: filepath.Base(dest)}
	trial, temp, err := s.create()
	if err != nil {
		return &sink{}, fmt.Errorf("write result %q: %w", dest, err)
	}
	trial.Close()
	return s, root.Remove(temp)
}

// descriptor understands 3, /dev/fd/3, /dev/stdout and /dev/stderr.
func descriptor(dest string) (int, bool) {
	switch dest {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(dest, "/dev/fd/"), 10, 20)
	return int(n), err == nil
}

func (s *sink) create() (*os.File, string, error) {
	temp := "." + s.name + ".sbx-" + strconv.Itoa(os.Getpid())
	if len(temp) > 255 {
		temp = ".sbx-" + strconv.Itoa(os.Getpid())
	}
	f, err := s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if os.IsExist(err) { // left over, or put there by the command
		if err = s.root.RemoveAll(temp); err == nil {
			f, err = s.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		}
	}
	return f, temp, err
}

// write stores the result. The run is over.
func (s *sink) write(r sbx.Result) error {
	if s.file == nil && s.root == nil {
		return nil
	}
	if s.file != nil {
		if err := writeJSON(s.file, r); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
		return nil
	}
	defer s.root.Close()
	f, temp, err := s.create()
	if err == nil {
		err = writeJSON(f, r)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err == nil {
		err = s.root.Rename(temp, s.name)
	}
	if err != nil {
		return fmt.Errorf("write result %q: %w", s.name, err)
	}
	return nil
}
