package sbx

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A command sees the lock of private directories, its own and those of other
// workspaces, read-only. Whatever locks it takes there, the next run begins.
func TestPrivateIsNotHeldByReaders(t *testing.T) {
	e, _, ws := privateEngine(t)
	first, err := e.openPrivate(ws, nil, nil)
	must(t, err)
	first.close()
	name := filepath.Join(first.dir, "lock")
	reader, err := os.Open(name)
	must(t, err)
	defer reader.Close()
	whole := func(kind int16) *syscall.Flock_t { return &syscall.Flock_t{Type: kind, Whence: io.SeekStart} }
	must(t, syscall.Flock(int(reader.Fd()), syscall.LOCK_EX|syscall.LOCK_NB),
		syscall.FcntlFlock(reader.Fd(), setLock, whole(syscall.F_RDLCK)))
	if err := syscall.FcntlFlock(reader.Fd(), setLock, whole(syscall.F_WRLCK)); err == nil {
		t.Error("who can only read the lock file takes the exclusive lock")
	}
	began := make(chan error, 1)
	go func() {
		p, err := e.openPrivate(ws, nil, nil)
		if err == nil {
			p.close()
		}
		began <- err
	}()
	select {
	case err := <-began:
		must(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("a reader's lock keeps the next run waiting")
	}
	// Control: the lock of a run is one.
	writer, err := openLock(name)
	must(t, err)
	defer writer.Close()
	if lockAlone(writer) {
		t.Error("the exclusive lock is given beside a shared one")
	}
}
