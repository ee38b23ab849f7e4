//go:build unix

package tree

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Owner is who new files belong to; nil: the caller.
type Owner struct{ UID, GID int }

// writer makes changes below one directory. Nothing is followed: each directory
// on the way is one, and stays below the root that was opened.
type writer struct {
	root  *os.Root
	owner *Owner
	modes []Entry // directories whose mode comes last: it may forbid writing
}

// end sets the modes of directories, those below first.
func (w *writer) end() (failed []Conflict) {
	for _, e := range slices.Backward(w.modes) {
		if err := w.root.Chmod(e.Path, e.Mode); err != nil {
			failed = append(failed, Conflict{e.Path, plain(err)})
		}
	}
	w.modes = nil
	return failed
}

// plain drops the path, which stands beside it.
func plain(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

// way checks the directories above a name.
func (w *writer) way(p string) error {
	parts := strings.Split(p, "/")
	for i := 1; i < len(parts); i++ {
		dir := strings.Join(parts[:i], "/")
		info, err := w.root.Lstat(dir)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%q is no directory", dir)
		}
	}
	return nil
}

// as says whether a name is still what the list said.
func (w *writer) as(e Entry) error {
	info, err := w.root.Lstat(e.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if e.Kind == None {
			return nil
		}
		return errors.New("it was removed meanwhile")
	case err != nil:
		return err
	}
	is := None
	switch {
	case info.IsDir():
		is = Directory
	case info.Mode()&fs.ModeSymlink != 0:
		is = Link
	case info.Mode().IsRegular():
		is = File
	}
	if is != e.Kind || is == None || is == File && (info.Size() != e.Size || info.ModTime().UnixNano() != e.MTime) {
		return errors.New("it was changed meanwhile")
	}
	return nil
}

// make makes one change for which no bytes are needed.
func (w *writer) make(c Change) error {
	if err := checkName(c.From.Path); err != nil {
		return err
	}
	if err := w.way(c.From.Path); err != nil {
		if c.To.Kind == None && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := w.as(c.From); err != nil {
		return err
	}
	p := c.From.Path
	if c.From.Kind != None && c.From.Kind != c.To.Kind {
		if err := w.root.Remove(p); err != nil {
			return err
		}
	}
	switch c.To.Kind {
	case None:
		return nil
	case Directory:
		if c.From.Kind != Directory {
			if err := w.root.Mkdir(p, 0o700); err != nil {
				return err
			}
			if err := w.own(p); err != nil {
				return err
			}
		}
		w.modes = append(w.modes, c.To)
		return nil
	case Link:
		return w.replace(p, func(temp string) error { return w.root.Symlink(c.To.To, temp) })
	}
	// A file that has the bytes already.
	if err := w.root.Chmod(p, c.To.Mode); err != nil {
		return err
	}
	return w.root.Chtimes(p, time.Time{}, time.Unix(0, c.To.MTime))
}

// replace puts what is made under another name in the place of p.
func (w *writer) replace(p string, make func(temp string) error) error {
	temp := partOf(p)
	if err := make(temp); err != nil {
		return err
	}
	err := w.own(temp)
	if err == nil {
		err = w.root.Rename(temp, p)
	}
	if err != nil {
		_ = w.root.Remove(temp)
	}
	return err
}

func (w *writer) own(p string) error {
	if w.owner == nil {
		return nil
	}
	return w.root.Lchown(p, w.owner.UID, w.owner.GID)
}

func partOf(p string) string {
	var random [6]byte
	_, _ = rand.Read(random[:])
	return path.Join(path.Dir(p), part+hex.EncodeToString(random[:]))
}

// incoming is a file that is being written.
type incoming struct {
	w      *writer
	change Change
	temp   string
	file   *os.File
	sum    hash.Hash
	size   int64
}

// begin opens a file for the bytes of a change.
func (w *writer) begin(c Change) (*incoming, error) {
	if err := checkName(c.From.Path); err != nil {
		return nil, err
	}
	if err := w.way(c.From.Path); err != nil {
		return nil, err
	}
	in := &incoming{w: w, change: c, temp: partOf(c.From.Path), sum: sha256.New()}
	var err error
	in.file, err = w.root.OpenFile(in.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	return in, err
}

func (in *incoming) Write(b []byte) (int, error) {
	in.size += int64(len(b))
	if in.size > in.change.To.Size {
		return 0, errors.New("more bytes came than were told")
	}
	_, _ = in.sum.Write(b)
	return in.file.Write(b)
}

// finish puts the file in its place if it is what was told, and if what is there
// is still what the list said.
func (in *incoming) finish() error {
	w, c := in.w, in.change
	drop := func(err error) error {
		_ = in.file.Close()
		_ = w.root.Remove(in.temp)
		return err
	}
	var sum [sha256.Size]byte
	in.sum.Sum(sum[:0])
	if in.size != c.To.Size || sum != c.To.Sum {
		return drop(errors.New("it was changed while it was read"))
	}
	err := in.file.Chmod(c.To.Mode)
	if err == nil {
		err = w.own(in.temp)
	}
	if err == nil {
		err = w.root.Chtimes(in.temp, time.Time{}, time.Unix(0, c.To.MTime))
	}
	if err == nil {
		err = w.as(c.From)
	}
	if err == nil && c.From.Kind == Directory {
		err = w.root.Remove(c.From.Path)
	}
	if err == nil {
		err = w.root.Rename(in.temp, c.To.Path)
	}
	if err != nil {
		return drop(err)
	}
	return in.file.Close()
}

// drop lets go of a file that was not finished.
func (in *incoming) drop() {
	_ = in.file.Close()
	_ = in.w.root.Remove(in.temp)
}

// open opens a file to be carried.
func open(root *os.Root, e Entry) (io.ReadCloser, error) {
	if err := checkName(e.Path); err != nil {
		return nil, err
	}
	return openFile(root, e.Path)
}
