package direct_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// acts are what a probe process does, each named and small. They return the
// error of the system call in question.
func act(name string, args []string) error {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	number := func(i int) int { n, _ := strconv.Atoi(arg(i)); return n }
	switch name {
	case "create":
		return write(arg(0), unix.O_CREAT|unix.O_EXCL)
	case "append":
		return write(arg(0), unix.O_APPEND)
	case "open-truncate":
		return write(arg(0), unix.O_TRUNC)
	case "truncate":
		return unix.Truncate(arg(0), 0)
	case "many-creates":
		return createMany(arg(0), number(1), number(2))
	case "mkdir":
		return unix.Mkdir(arg(0), 0o777)
	case "rmdir":
		return unix.Rmdir(arg(0))
	case "unlink":
		return unix.Unlink(arg(0))
	case "rename":
		return unix.Rename(arg(0), arg(1))
	case "link":
		return unix.Link(arg(0), arg(1))
	case "symlink":
		return unix.Symlink(arg(0), arg(1))
	case "mkfifo":
		return unix.Mkfifo(arg(0), 0o600)
	case "bind-path":
		return bindPath(arg(0))
	case "mknod-null":
		return unix.Mknod(arg(0), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
	case "symlink-write":
		if err := unix.Symlink(arg(0), arg(1)); err != nil {
			return err
		}
		return write(arg(1), unix.O_CREAT)
	case "read":
		f, err := os.Open(arg(0))
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 16))
		return err
	case "readlink":
		_, err := os.Readlink(arg(0))
		return err
	case "list":
		_, err := os.ReadDir(arg(0))
		return err
	case "open-write": // what must not be changed, be it open or not
		return closing(unix.Open(arg(0), unix.O_WRONLY, 0))
	case "write-open":
		return write(arg(0), 0)
	case "chmod-setuid":
		return unix.Chmod(arg(0), 0o4755)
	case "fchmodat-setgid":
		return unix.Fchmodat(unix.AT_FDCWD, arg(0), 0o2755, 0)
	case "create-setuid":
		return closing(unix.Open(arg(0), unix.O_CREAT|unix.O_WRONLY, 0o4755))
	case "open-mode-ignored": // without O_CREAT the mode is garbage and must not matter
		return closing(unix.Open(arg(0), unix.O_RDONLY, 0o7777))
	case "setxattr":
		return unix.Setxattr(arg(0), "user.sbx", []byte("1"), 0)
	case "chmod":
		return unix.Chmod(arg(0), 0o600)
	case "chown":
		return unix.Lchown(arg(0), os.Geteuid(), os.Getegid())
	case "utime":
		return unix.Utimes(arg(0), []unix.Timeval{{Sec: 1}, {Sec: 1}})
	case "names":
		entries, err := os.ReadDir(arg(0))
		for _, e := range entries {
			fmt.Print(e.Name(), " ")
		}
		return err
	case "write-into":
		return os.WriteFile(arg(0), []byte("x"), 0o600)
	case "dial":
		c, err := net.DialTimeout(arg(0), arg(1), 2*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("x"))
		return err
	case "serve":
		return serve(arg(0), arg(1))
	case "kill":
		return unix.Kill(number(0), unix.SIGCONT)
	case "ptrace":
		return ptrace(number(0))
	case "prlimit":
		return unix.Prlimit(number(0), unix.RLIMIT_CORE, nil, &unix.Rlimit{})
	case "write-fd":
		_, err := unix.Write(number(0), []byte("x"))
		return err
	case "socket":
		return closing(unix.Socket(number(0), number(1), number(2)))
	case "socketpair":
		_, err := unix.Socketpair(unix.AF_UNIX, number(0), 0)
		return err
	case "connect-abstract":
		return connectUnix("@" + arg(0))
	case "connect-unix":
		return connectUnix(arg(0))
	case "tiocsti":
		return ioctl(arg(0), unix.TIOCSTI)
	case "tioclinux": // pastes into a console
		return ioctl(arg(0), unix.TIOCLINUX)
	case "tioclinux-high":
		return ioctl(arg(0), unix.TIOCLINUX|1<<32)
	case "tiocsti-high": // the kernel looks at 32 bits of the request
		return ioctl(arg(0), unix.TIOCSTI|1<<32)
	case "openpty":
		return openpty()
	case "shm":
		name := fmt.Sprintf("/dev/shm/sbx-test-%d", os.Getpid())
		defer os.Remove(name)
		return write(name, unix.O_CREAT|unix.O_EXCL)
	case "status":
		return status(arg(0), arg(1))
	case "starter-memory":
		return starterMemory()
	case "starter-ptrace":
		return eachStarterThread(func(pid, tid int) error { return ptrace(tid) })
	case "starter-tgkill":
		return eachStarterThread(func(pid, tid int) error { return unix.Tgkill(pid, tid, unix.SIGCONT) })
	case "starter-kill":
		return eachStarterThread(func(pid, tid int) error { return unix.Kill(tid, unix.SIGCONT) })
	case "syscall":
		return raw(args)
	case "exit":
		os.Exit(number(0))
	case "environ-of":
		text, err := os.ReadFile("/proc/" + arg(0) + "/environ")
		if err == nil && !strings.Contains(string(text), arg(1)) {
			return errors.New("no canary in the environment")
		}
		return err
	}
	return fmt.Errorf("no act %q", name)
}

func write(name string, flags int) error {
	fd, err := unix.Open(name, unix.O_WRONLY|flags, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if flags&unix.O_TRUNC != 0 {
		return nil
	}
	_, err = unix.Write(fd, []byte("changed\n"))
	return err
}

func closing(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// serve listens and connects to itself.
func serve(network, address string) error {
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial(network, l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}

func connectUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

func bindPath(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrUnix{Name: name})
}

// ptrace attaches and lets go again.
func ptrace(pid int) error {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	if err := syscall.PtraceAttach(pid); err != nil {
		return err
	}
	var ws unix.WaitStatus
	_, _ = unix.Wait4(pid, &ws, unix.WALL, nil)
	return syscall.PtraceDetach(pid)
}

func ioctl(tty string, request uintptr) error {
	fd, err := unix.Open(tty, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	c := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&c)))
	if errno != 0 {
		return errno
	}
	return nil
}

func openpty() error {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	return closing(unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY, 0))
}

func status(key, want string) error {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && k == key {
			if v = strings.TrimSpace(v); v != want {
				return fmt.Errorf("%s is %s", key, v)
			}
			return nil
		}
	}
	return fmt.Errorf("no %s", key)
}

// eachStarterThread tries an act on every thread of the process that started
// this one. It is an error only when all of them refuse.
func eachStarterThread(do func(pid, tid int) error) error {
	pid := os.Getppid()
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return err
	}
	var last error = unix.ESRCH
	for _, e := range tasks {
		tid, _ := strconv.Atoi(e.Name())
		if last = do(pid, tid); last == nil {
			return nil
		}
	}
	return last
}

func starterMemory() error {
	return eachStarterThread(func(pid, tid int) error {
		f, err := os.OpenFile(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(tid), "mem"), os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// raw makes a system call from numbers.
func raw(args []string) error {
	var n [7]uintptr
	for i, a := range args {
		v, err := strconv.ParseUint(a, 0, 64)
		if err != nil {
			return err
		}
		n[i] = uintptr(v)
	}
	if _, _, errno := unix.Syscall6(n[0], n[1], n[2], n[3], n[4], n[5], n[6]); errno != 0 {
		return errno
	}
	return nil
}

// createMany is what many-creates does: threads that each try to make files.
func createMany(dir string, threads, each int) error {
	done := make(chan error)
	for i := range threads {
		go func() {
			var wrong error
			for j := range each {
				fd, err := unix.Open(fmt.Sprintf("%s/%d-%d", dir, i, j), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
				if err == nil {
					_ = unix.Close(fd)
					wrong = fmt.Errorf("made %d-%d", i, j)
				}
			}
			done <- wrong
		}()
	}
	var wrong error
	for range threads {
		if err := <-done; err != nil {
			wrong = err
		}
	}
	return wrong
}
