//go:build unix

package approvals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockWait is how long a step waits for those of other processes.
const lockWait = 5 * time.Second

var bucket = []byte("approvals")

// update is one step that writes. Either all of it is on the disk afterwards, or
// nothing.
func (s *Store) update(step func(*table) error) error {
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return &StoreError{s.Path, plain(err)}
	}
	return s.with(false, func(db *bbolt.DB) error {
		return db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			return step(&table{b: b})
		})
	})
}

// view is one step that reads. Without a file there is nothing to read.
func (s *Store) view(step func(*table) error) error {
	if _, err := os.Lstat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return step(&table{})
	}
	return s.with(true, func(db *bbolt.DB) error {
		return db.View(func(tx *bbolt.Tx) error {
			if b := tx.Bucket(bucket); b != nil {
				return step(&table{b: b})
			}
			return step(&table{})
		})
	})
}

// with opens the file for one step. A damaged one makes the library panic, or
// read behind its end: that is an error as any other.
func (s *Store) with(read bool, step func(*bbolt.DB) error) (err error) {
	var file *os.File
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it is damaged: %v", r)
			if file != nil {
				release(file)
				file.Close()
			}
		}
		var unknown *UnknownError
		var settled *SettledError
		if err != nil && !errors.As(err, &unknown) && !errors.As(err, &settled) {
			err = &StoreError{s.Path, plain(err)}
		}
	}()
	if why := unfit(s.Path); why != "" {
		return errors.New(why)
	}
	open := func(name string, flag int, mode os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, mode)
		file = f
		return f, err
	}
	db, err := bbolt.Open(s.Path, 0o600, &bbolt.Options{Timeout: lockWait, ReadOnly: read, OpenFile: open})
	if err != nil {
		return err
	}
	defer db.Close()
	return step(db)
}

// unfit says why a file is not one that only the caller writes. One that is not
// there yet is fit.
func unfit(path string) string {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return plain(err).Error()
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case !ours(info):
		return "it belongs to somebody else"
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Sprintf("others may use it (mode %04o); chmod 600", info.Mode().Perm())
	}
	return ""
}

// plain drops the path, which StoreError says.
func plain(err error) error {
	var p *fs.PathError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("another program has held it for %v", lockWait)
	}
	return err
}

// ours reports whether a file belongs to the user that sbx runs as.
func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid()
}

// release lets the lock of a file go. Closing is not enough: what is mapped keeps
// the file, and with it the lock.
func release(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
