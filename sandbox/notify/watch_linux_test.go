//go:build amd64 || arm64

package notify

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// caller is a thread whose calls are heard.
type caller struct {
	*testing.T
	todo    chan func()
	done    chan struct{}
	watcher *Watcher
}

// newCaller starts one. The test binary's other threads are not touched.
func newCaller(t *testing.T, acts Acts, judge func(Event)) *caller {
	t.Helper()
	c := &caller{T: t, todo: make(chan func()), done: make(chan struct{})}
	fd := make(chan int)
	onThread(func() {
		fd <- listenerHere(acts)
		for f := range c.todo {
			f()
			c.done <- struct{}{}
		}
	})
	n := <-fd
	if n < 0 {
		t.Fatal("no listener")
	}
	var err error
	if c.watcher, err = Watch(n, acts, func() {}, judge, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(c.todo) })
	return c
}

// onThread runs f on a thread that ends with it. The main thread never ends.
func onThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		begun := make(chan struct{})
		go func() { // cannot land here: this thread is locked and waits
			runtime.LockOSThread()
			close(begun)
			f()
		}()
		<-begun
		runtime.UnlockOSThread()
	}()
}

func listenerHere(acts Acts) int {
	code := Filter(acts)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0]))}
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return -1
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1
	}
	return int(fd)
}

func (c *caller) do(f func()) {
	c.todo <- f
	<-c.done
}

var everything = Of(Read, Write, Truncate, Create, Delete, DeleteDir, Rename, Link, Mode, Owner, Times, Connect)

func TestEvents(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	var heard []Event
	c := newCaller(t, everything, func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, e)
	})
	odd := dir + "/a \xff\n\"b"
	at, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	open := func(name string, flags int) error {
		fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o600)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	null := [2]string{"/dev/null"}
	lchown := "fchownat"
	if len(oldCalls()) > 0 {
		lchown = "lchown"
	}
	tests := []struct {
		do   func() error
		want Event // of no act: none
	}{
		{func() error { return open(odd, unix.O_CREAT|unix.O_WRONLY) }, Event{Call: "openat", Act: Write, Paths: [2]string{odd}, Follow: true, Writes: true, Create: true}},
		{func() error { return open(dir+"/x", unix.O_CREAT|unix.O_EXCL) }, Event{Call: "openat", Act: Write, Paths: [2]string{dir + "/x"}, Create: true, Exclusive: true}},
		{func() error { return open("/dev/null", unix.O_RDWR|unix.O_NOFOLLOW) }, Event{Call: "openat", Act: Write, Paths: null, Writes: true}},
		{func() error { return open("/dev/null", unix.O_RDONLY) }, Event{Call: "openat", Act: Read, Paths: null, Follow: true}},
		{func() error { return open("/dev/null", unix.O_PATH) }, Event{}},
		{func() error { return open(dir, unix.O_TMPFILE|unix.O_WRONLY) }, Event{Call: "openat", Act: Write, Paths: [2]string{dir}, Follow: true, Writes: true, Unnamed: true}},
		{func() error { return unix.Truncate(odd, 0) }, Event{Call: "truncate", Act: Truncate, Paths: [2]string{odd}, Follow: true}},
		{func() error { return unix.Mkdirat(at, "d", 0o700) }, Event{Call: "mkdirat", Act: Create, Paths: [2]string{dir + "/d"}}},
		{func() error { return unix.Mkfifo(dir+"/p", 0o600) }, Event{Call: "mknodat", Act: Create, Paths: [2]string{dir + "/p"}}},
		{func() error { return unix.Symlink("/nowhere", dir+"/l") }, Event{Call: "symlinkat", Act: Create, Paths: [2]string{dir + "/l"}}},
		{func() error { return unix.Linkat(at, "x", at, "y", 0) }, Event{Call: "linkat", Act: Link, Paths: [2]string{dir + "/x", dir + "/y"}}},
		{func() error { return unix.Rename(dir+"/y", dir+"/z") }, Event{Call: "renameat", Act: Rename, Paths: [2]string{dir + "/y", dir + "/z"}}},
		{func() error { return unix.Renameat2(at, "z", at, "y", unix.RENAME_NOREPLACE) }, Event{Call: "renameat2", Act: Rename, Paths: [2]string{dir + "/z", dir + "/y"}, Exclusive: true}},
		{func() error { return unix.Chmod(odd, 0o644) }, Event{Call: "fchmodat", Act: Mode, Paths: [2]string{odd}, Follow: true}},
		{func() error { return unix.Lchown(odd, -1, -1) }, Event{Call: lchown, Act: Owner, Paths: [2]string{odd}}},
		{func() error { return unix.Fchown(at, -1, -1) }, Event{Call: "fchown", Act: Owner, Paths: [2]string{dir}, Follow: true}}, // EBADF of O_PATH is for the kernel
		{func() error { return unix.Utimes(odd, []unix.Timeval{{}, {}}) }, Event{Call: "utimensat", Act: Times, Paths: [2]string{odd}, Follow: true}},
		{func() error { return unix.UtimesNanoAt(at, "l", []unix.Timespec{{}, {}}, unix.AT_SYMLINK_NOFOLLOW) }, Event{Call: "utimensat", Act: Times, Paths: [2]string{dir + "/l"}}},
		{func() error { return unix.Unlinkat(at, "x", 0) }, Event{Call: "unlinkat", Act: Delete, Paths: [2]string{dir + "/x"}}},
		{func() error { return unix.Rmdir(dir + "/d") }, Event{Call: "unlinkat", Act: DeleteDir, Paths: [2]string{dir + "/d"}}},
		{func() error { return open("none/../here", unix.O_WRONLY) }, Event{Call: "openat", Act: Write, Paths: [2]string{here + "/none/../here"}, Follow: true, Writes: true}},
		{func() error { return open("", unix.O_WRONLY) }, Event{Call: "openat", Act: Write, Paths: [2]string{here}, Follow: true, Writes: true}},
		{func() error { _, err := unix.Openat(-5, "x", unix.O_WRONLY, 0); return err }, Event{}},
	}
	fails := map[string]bool{"fchown": true, here + "/none/../here": true, here: true, "": true}
	var want []Event
	for _, tt := range tests {
		var err error
		c.do(func() { err = tt.do() })
		if wrong := err != nil; wrong && !fails[tt.want.Call] && !fails[tt.want.Paths[0]] {
			t.Errorf("%+v: %v", tt.want, err)
		}
		if tt.want.Act != 0 {
			want = append(want, tt.want)
		}
	}
	if lost, ended := c.watcher.Finish(10 * time.Second); lost != 0 || !ended {
		t.Errorf("%d lost, ended %v", lost, ended)
	}
	mu.Lock()
	defer mu.Unlock()
	for i := range want {
		if i >= len(heard) || heard[i] != want[i] {
			t.Fatalf("%d: %+v\nwant %+v", i, heard[min(i, len(heard)-1):], want[i])
		}
	}
	if len(heard) != len(want) {
		t.Errorf("%d events, want %d: %+v", len(heard), len(want), heard[len(want):])
	}
}

// Every call of the table is heard with its own paths.
func TestEveryCall(t *testing.T) {
	var mu sync.Mutex
	heard := map[string]Event{}
	c := newCaller(t, everything, func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		heard[e.Call] = e
	})
	names := [2]string{"/none/first", "/none/second"}
	var texts [2]*byte
	for i := range names {
		texts[i], _ = unix.BytePtrFromString(names[i])
	}
	cwd := unix.AT_FDCWD
	for _, row := range calls() {
		var args [6]uintptr
		for i := range 2 {
			if row.dirs[i] != none {
				args[row.dirs[i]] = uintptr(cwd)
			}
			if row.paths[i] != none {
				args[row.paths[i]] = uintptr(unsafe.Pointer(texts[i]))
			}
		}
		if row.act == Write && row.flags != none {
			args[row.flags] = unix.O_WRONLY
		}
		if row.act == Create && strings.HasPrefix(row.name, "symlink") {
			args[0] = uintptr(unsafe.Pointer(texts[1]))
		}
		var errno unix.Errno
		c.do(func() {
			_, _, errno = unix.Syscall6(uintptr(row.nr), args[0], args[1], args[2], args[3], args[4], args[5])
		})
		if errno == 0 {
			t.Errorf("%s worked", row.name)
		}
	}
	runtime.KeepAlive(texts)
	if lost, _ := c.watcher.Finish(10 * time.Second); lost != 0 {
		t.Errorf("%d lost", lost)
	}
	for _, row := range calls() {
		want := [2]string{names[0]}
		if row.paths[1] != none {
			want = names
		}
		e, ok := heard[row.name]
		if row.act == Connect {
			continue // see TestPeers
		}
		if row.paths[0] == none { // of a descriptor, and AT_FDCWD is none
			if ok {
				t.Errorf("%s: %+v", row.name, e)
			}
			continue
		}
		if !ok || e.Act != row.act || e.Paths != want {
			t.Errorf("%s: %+v", row.name, e)
		}
	}
}

func TestPeers(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	c := newCaller(t, Of(Connect), func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, e.Peer.String())
	})
	v4 := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: 0x1600, Addr: [4]byte{192, 0, 2, 7}} // 22
	v6 := unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: 0x1600, Addr: [16]byte{0xfd, 15: 7}}
	mapped := unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: 0x1600, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 192, 14: 2, 15: 7}}
	local := unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	for _, a := range []struct {
		at     unsafe.Pointer
		length uintptr
	}{
		{unsafe.Pointer(&v4), unix.SizeofSockaddrInet4},
		{unsafe.Pointer(&v6), unix.SizeofSockaddrInet6},
		{unsafe.Pointer(&mapped), unix.SizeofSockaddrInet6},
		{unsafe.Pointer(&v4), unix.SizeofSockaddrInet4 - 1},
		{unsafe.Pointer(&v6), unix.SizeofSockaddrInet6 - 1},
		{unsafe.Pointer(&local), unix.SizeofSockaddrUnix},
		{nil, unix.SizeofSockaddrInet4},
		{unsafe.Pointer(&v4), 1 << 40}, // the kernel reads an int
	} {
		var errno unix.Errno
		c.do(func() { _, _, errno = unix.Syscall(unix.SYS_CONNECT, ^uintptr(0), uintptr(a.at), a.length) })
		if errno == 0 {
			t.Error("connected")
		}
	}
	if lost, ended := c.watcher.Finish(10 * time.Second); lost != 0 || !ended {
		t.Errorf("%d lost, ended %v", lost, ended)
	}
	if want := []string{"192.0.2.7:22", "[fd00::7]:22", "192.0.2.7:22"}; !slices.Equal(heard, want) {
		t.Errorf("%q, want %q", heard, want)
	}
}

// Paths at the edges of memory and of what the kernel takes.
func TestPathsAtTheEdge(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	c := newCaller(t, Of(Delete), func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, e.Paths[0])
	})
	const page = 4096
	memory, err := unix.Mmap(-1, 0, 4*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	if err := unix.Mprotect(memory[3*page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	const cwd = ^uintptr(99) // AT_FDCWD
	unlink := func(at int, text string) (errno unix.Errno) {
		copy(memory[at:3*page], text)
		c.do(func() { _, _, errno = unix.Syscall(unix.SYS_UNLINKAT, cwd, uintptr(unsafe.Pointer(&memory[at])), 0) })
		return errno
	}
	long := "/" + strings.Repeat("d/", 2046) + "e" // 4094 bytes, the most but one
	tests := []struct {
		at    int
		text  string
		errno unix.Errno
		heard bool
	}{
		{3*page - 5, "/abc\x00", unix.ENOENT, true},
		{3*page - 4, "/abc", unix.EFAULT, false}, // no end before the hole
		{page - 2, "/abc\x00", unix.ENOENT, true},
		{3*page - len(long) - 1, long + "\x00", unix.ENOENT, true},
		{100, long + "ff\x00", unix.ENAMETOOLONG, false},
		{0, "\x00", unix.ENOENT, true},
	}
	var want []string
	for _, tt := range tests {
		if got := unlink(tt.at, tt.text); got != tt.errno {
			t.Errorf("%.20q at %d: %v, want %v", tt.text, tt.at, got, tt.errno)
		}
		if tt.heard {
			want = append(want, strings.TrimSuffix(tt.text, "\x00"))
		}
	}
	c.do(func() { _, _, _ = unix.Syscall(unix.SYS_UNLINKAT, cwd, 0, 0) })
	c.do(func() { _, _, _ = unix.Syscall(unix.SYS_UNLINKAT, cwd, 8, 0) })
	if lost, ended := c.watcher.Finish(10 * time.Second); lost != 0 || !ended {
		t.Errorf("%d lost, ended %v", lost, ended)
	}
	here, _ := os.Getwd()
	want[len(want)-1] = here
	want = append(want, here) // unlink(NULL)
	if !slices.Equal(heard, want) {
		t.Errorf("heard %.60q", heard)
	}
}

// A directory that lies deeper than a path can be long has no name to report.
func TestDeepDirectory(t *testing.T) {
	var mu sync.Mutex
	n := 0
	c := newCaller(t, Of(Create, Delete), func(Event) { mu.Lock(); n++; mu.Unlock() })
	top := t.TempDir()
	at, err := unix.Open(top, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("n", 250)
	for range 20 {
		c.do(func() {
			if err = unix.Mkdirat(at, name, 0o700); err == nil {
				var next int
				if next, err = unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
					_ = unix.Close(at)
					at = next
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = unix.Close(at)
	if lost, ended := c.watcher.Finish(10 * time.Second); lost != 0 || !ended || n < 10 || n >= 20 {
		t.Errorf("%d lost, ended %v, %d heard", lost, ended, n)
	}
}

// A judge that hangs costs the command a second once, and is named.
func TestJudgeThatHangs(t *testing.T) {
	hold := make(chan struct{})
	c := newCaller(t, Of(Delete), func(Event) { <-hold })
	name := filepath.Join(t.TempDir(), "none")
	began := time.Now()
	const calls = backlog + 50
	c.do(func() {
		for range calls {
			_ = unix.Unlink(name)
		}
	})
	if took := time.Since(began); took < patience || took > 30*time.Second {
		t.Errorf("the command was held for %v", took)
	}
	lost, ended := c.watcher.Finish(50 * time.Millisecond)
	if ended || lost != calls {
		t.Errorf("%d lost, ended %v", lost, ended)
	}
	close(hold)
	<-c.watcher.judged
}

// After the end of a watcher calls fail at once; they do not hang.
func TestCallsAfterTheEnd(t *testing.T) {
	c := newCaller(t, Of(Delete), func(Event) {})
	c.watcher.Finish(time.Second)
	var err error
	c.do(func() { err = unix.Unlink("/none") })
	if err != unix.ENOSYS {
		t.Errorf("%v", err)
	}
}

// When the last who could call is gone, the watcher ends by itself.
func TestEndsWithItsCallers(t *testing.T) {
	fd := make(chan int)
	onThread(func() { fd <- listenerHere(Of(Delete)) })
	n := <-fd
	if n < 0 {
		t.Fatal("no listener")
	}
	w, err := Watch(n, Of(Delete), func() {}, func(Event) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.judged:
	case <-time.After(20 * time.Second):
		t.Error("still waiting")
	}
	w.Finish(time.Second)
}
