package pid1

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Listener is a socket in a directory of its own, which the container gets as
// SocketDir. Nobody but the caller, root and the container can reach it.
type Listener struct {
	Dir  string // to mount
	top  string // holds Dir; only the caller may pass
	file *os.File
}

// prefix begins the names of the directories; the caller's process number and
// start time follow, so that what a killed process left can be told.
const prefix = "sbx-box-"

// Listen makes the socket in the caller's runtime directory.
func Listen() (_ *Listener, err error) {
	top, err := OwnDir()
	if err != nil {
		return nil, err
	}
	l := &Listener{Dir: top + "/s", top: top}
	defer func() {
		if err != nil {
			_ = l.Close()
		}
	}()
	// The process in the container may be another user's; top keeps others out.
	if err := os.Mkdir(l.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(l.Dir, 0o755); err != nil {
		return nil, err
	}
	fd, err := listenAt(l.Dir)
	if err != nil {
		return nil, fmt.Errorf("listen for container: %w", err)
	}
	l.file = os.NewFile(uintptr(fd), "sbx listener")
	return l, nil
}

// OwnDir makes a directory that only the caller can enter. When this process is
// killed before it removes the directory, the next call of a process of the same
// user does.
func OwnDir() (string, error) {
	base := runtimeDir()
	sweep(base)
	dir, err := os.MkdirTemp(base, prefix+strconv.Itoa(os.Getpid())+"-"+StartTime(os.Getpid())+"-")
	if err != nil {
		return "", fmt.Errorf("make directory for socket: %w", err)
	}
	return dir, nil
}

// listenAt binds through a descriptor: the length of a socket's name is bounded.
func listenAt(dir string) (int, error) {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	name := "/proc/self/fd/" + strconv.Itoa(at) + "/" + SocketName
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err == nil {
		if err = os.Chmod(filepath.Join(dir, SocketName), 0o777); err == nil {
			err = unix.Listen(fd, 64)
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Accept waits for the container and removes the socket: there is one
// connection. Close interrupts it.
func (l *Listener) Accept() (*Conn, error) {
	fd, err := accept(l.file)
	if err != nil {
		return nil, fmt.Errorf("wait for container: %w", err)
	}
	l.remove()
	return newConn(fd)
}

func accept(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, failed := -1, error(nil)
	for {
		err := raw.Read(func(on uintptr) bool {
			fd, _, failed = unix.Accept4(int(on), unix.SOCK_CLOEXEC)
			return failed != unix.EAGAIN
		})
		if failed == unix.EINTR || failed == unix.ECONNABORTED {
			continue
		}
		return fd, errors.Join(err, failed)
	}
}

func (l *Listener) remove() { _ = os.RemoveAll(l.top) }

// Close removes what is left.
func (l *Listener) Close() error {
	l.remove()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// runtimeDir is short-lived and the caller's own, if the system has such a
// place.
func runtimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return os.TempDir()
}

// sweep removes the directories of processes that are gone. Those of other
// users cannot be removed and are none of our business.
func sweep(base string) {
	left, _ := filepath.Glob(filepath.Join(base, prefix+"*"))
	for _, dir := range left {
		fields := strings.SplitN(strings.TrimPrefix(filepath.Base(dir), prefix), "-", 3)
		if len(fields) != 3 {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		var st unix.Stat_t
		if err != nil || StartTime(pid) == fields[1] || unix.Lstat(dir, &st) != nil || int(st.Uid) != os.Geteuid() {
			continue
		}
		_ = os.RemoveAll(dir)
	}
}

// StartTime tells processes apart that had the same number: when it started, in
// ticks since the start of the machine. "" when there is no such process.
func StartTime(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name, in parentheses, may hold anything.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	if fields := strings.Fields(rest); len(fields) > 19 {
		return fields[19]
	}
	return ""
}

// dial connects from inside.
func dial(path string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		if err == nil {
			return fd, nil
		}
		if err != unix.EAGAIN && err != unix.EINTR || time.Now().After(deadline) {
			_ = unix.Close(fd)
			return -1, err
		}
	}
}

// ServiceListener is the socket of a serving process. It has a name on the host
// alone.
type ServiceListener struct{ file *os.File }

// ListenAt makes a socket in a directory that only the caller can enter.
func ListenAt(dir string) (*ServiceListener, error) {
	fd, err := listenAt(dir)
	if err != nil {
		return nil, fmt.Errorf("listen in %q: %w", dir, err)
	}
	return &ServiceListener{os.NewFile(uintptr(fd), "sbx listener")}, nil
}

// Close lets go of our copy: the serving process has its own.
func (l *ServiceListener) Close() error { return l.file.Close() }

// DialAt connects to the serving process of a directory.
func DialAt(dir string) (*Conn, error) {
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	fd, err := dial("/proc/self/fd/" + strconv.Itoa(at) + "/" + SocketName)
	if err != nil {
		return nil, err
	}
	return newConn(fd)
}

// PlaceAt says what a name means now. A symbolic link means itself: no path of
// a profile holds one.
func PlaceAt(path string) (Place, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return Place{}, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return Place{path, uint64(st.Dev), st.Ino}, nil
}
