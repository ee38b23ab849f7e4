//go:build amd64 || arm64

package probes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileActs change or read files.
func fileActs() []act {
	return []act{
		{"create", func(a arguments) error { return writeTo(a.text(0), unix.O_CREAT|unix.O_EXCL) }},
		{"write", func(a arguments) error { return writeTo(a.text(0), 0) }},
		{"append", func(a arguments) error { return writeTo(a.text(0), unix.O_APPEND) }},
		{"open-truncate", func(a arguments) error { return writeTo(a.text(0), unix.O_TRUNC) }},
		{"read-truncate", func(a arguments) error {
			begun()
			return closing(unix.Open(a.text(0), unix.O_RDONLY|unix.O_TRUNC, 0))
		}},
		{"truncate", func(a arguments) error { begun(); return unix.Truncate(a.text(0), 0) }},
		{"mkdir", func(a arguments) error { begun(); return unix.Mkdir(a.text(0), 0o777) }},
		{"rmdir", func(a arguments) error { begun(); return unix.Rmdir(a.text(0)) }},
		{"unlink", func(a arguments) error { begun(); return unix.Unlink(a.text(0)) }},
		{"rename", func(a arguments) error { begun(); return unix.Rename(a.text(0), a.text(1)) }},
		{"exchange", func(a arguments) error {
			begun()
			return unix.Renameat2(unix.AT_FDCWD, a.text(0), unix.AT_FDCWD, a.text(1), unix.RENAME_EXCHANGE)
		}},
		{"symlink", func(a arguments) error { begun(); return unix.Symlink(a.text(0), a.text(1)) }},
		{"link", func(a arguments) error { begun(); return unix.Link(a.text(0), a.text(1)) }},
		{"link-write", func(a arguments) error {
			begun()
			if err := unix.Link(a.text(0), a.text(1)); err != nil {
				return err
			}
			return overwrite(a.text(1), unix.O_APPEND)
		}},
		{"symlink-write", func(a arguments) error {
			if err := unix.Symlink(a.text(0), a.text(1)); err != nil {
				return setup("symlink in the workspace", err)
			}
			return writeTo(a.text(1), unix.O_CREAT)
		}},
		{"dirfd-create", dirfdCreate},
		{"tmpfile-link", tmpfileLink},
		{"mkfifo", func(a arguments) error { begun(); return unix.Mkfifo(a.text(0), 0o600) }},
		{"mknod", func(a arguments) error {
			begun()
			return unix.Mknod(a.text(0), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5)))
		}},
		{"mknodat-block", func(a arguments) error {
			begun()
			return unix.Mknodat(unix.AT_FDCWD, a.text(0), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
		}},
		{"open-write", func(a arguments) error {
			begun()
			return closing(unix.Open(a.text(0), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0))
		}},
		{"read-some", readSome},
		{"open-full", openFull},
		{"open-disk", openDisk},
		{"cgroup-join", openCgroup},
		{"read", func(a arguments) error { begun(); return show(a.text(0)) }},
		{"read-when", readWhen},
		{"read-moved", readMoved},
		{"read-mapped", readMapped},
		{"stat", statOf},
		{"list", listOf},

		{"chmod", func(a arguments) error { begun(); return unix.Chmod(a.text(0), 0o600) }},
		{"fchmod", onReadOnly(func(fd int) error { return unix.Fchmod(fd, 0o600) })},
		{"chmod-by-proc", onReadOnly(func(fd int) error { return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o600) })},
		{"chown", func(a arguments) error { begun(); return unix.Lchown(a.text(0), 1, 1) }},
		{"utime", func(a arguments) error {
			begun()
			then := unix.Timespec{Sec: past2001()}
			return unix.UtimesNanoAt(unix.AT_FDCWD, a.text(0), []unix.Timespec{then, then}, 0)
		}},
		{"futime", onReadOnly(func(fd int) error {
			then := unix.Timeval{Sec: past2001()}
			return unix.Futimes(fd, []unix.Timeval{then, then})
		})},
		{"setxattr", func(a arguments) error { begun(); return unix.Setxattr(a.text(0), "user.sbx", []byte("1"), 0) }},
		{"fsetxattr", onReadOnly(func(fd int) error { return unix.Fsetxattr(fd, "user.sbx", []byte("1"), 0) })},
		{"chattr", onReadOnly(setNoDump)},
	}
}

// past2001 is another time for each process: setting the same one twice would
// look like no change.
func past2001() int64 { return 978307200 + int64(os.Getpid()) }

func writeTo(name string, flags int) error { begun(); return overwrite(name, flags) }

func overwrite(name string, flags int) error {
	fd, err := unix.Open(name, unix.O_WRONLY|flags, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("changed from inside\n"))
	return err
}

func closing(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// onReadOnly acts on a descriptor that was opened for reading, which a sandbox
// allows nearly everywhere.
func onReadOnly(do func(fd int) error) func(arguments) error {
	return func(a arguments) error {
		fd, err := unix.Open(a.text(0), unix.O_RDONLY, 0)
		begun()
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return do(fd)
	}
}

const noDump = 0x40 // FS_NODUMP_FL

// setNoDump sets an attribute of ext2 and its like: ioctl needs no writable
// descriptor for it.
func setNoDump(fd int) error {
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|noDump)
}

func dirfdCreate(a arguments) error {
	dir, err := unix.Open(a.text(0), unix.O_PATH|unix.O_DIRECTORY, 0)
	begun()
	if err != nil {
		return err
	}
	fd, err := unix.Openat(dir, "new", unix.O_CREAT|unix.O_WRONLY, 0o644)
	return closing(fd, err)
}

// tmpfileLink makes a file without a name and gives it one.
func tmpfileLink(a arguments) error {
	begun()
	fd, err := unix.Open(a.text(0), unix.O_TMPFILE|unix.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return linkOut(fd, a.text(0)+"/new")
}

// linkOut gives an open file a name.
func linkOut(fd int, name string) error {
	return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// openFull opens a file, and wants more than the empty one that may lie over it.
func openFull(a arguments) error {
	begun()
	fd, err := unix.Open(a.text(0), unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Size == 0 {
		return errors.New("an empty file")
	}
	return nil
}

// readSome reads the first bytes of a file whose size the kernel does not tell.
// A file that is covered by an empty one is not read.
func readSome(a arguments) error {
	begun()
	fd, err := unix.Open(a.text(0), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, make([]byte, 16))
	if err == nil && n == 0 {
		return errors.New("an empty file")
	}
	return err
}

// openDisk opens the nodes of disks and memory for reading, and reads nothing.
func openDisk(arguments) error {
	entries, err := os.ReadDir("/dev")
	begun()
	if err != nil {
		return err
	}
	last := error(unix.ENOENT)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		block := info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeCharDevice == 0
		if !block && e.Name() != "mem" && e.Name() != "kmsg" && e.Name() != "port" {
			continue
		}
		fd, err := unix.Open("/dev/"+e.Name(), unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			fmt.Println("opened /dev/" + e.Name())
			return unix.Close(fd)
		}
		if !errors.Is(err, unix.ENXIO) && !errors.Is(err, unix.ENOMEDIUM) {
			last = err
		}
	}
	return last
}

// openCgroup opens for writing what moves processes between groups, and writes
// nothing.
func openCgroup(arguments) error {
	begun()
	last := error(unix.ENOENT)
	for _, pattern := range []string{"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/*/cgroup.procs", "/sys/fs/cgroup/*/*/cgroup.procs"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			if last = closing(unix.Open(name, unix.O_WRONLY, 0)); last == nil {
				return nil
			}
		}
	}
	return last
}

// show prints a file. Only what the runner made is read in this way.
func show(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<16))
	fmt.Printf("%q\n", text)
	return err
}

// readMoved moves the directory of a secret first: rules by path lose it then.
func readMoved(a arguments) error {
	begun()
	if err := unix.Rename(a.text(0), a.text(1)); err != nil {
		return err
	}
	return show(a.text(1) + "/" + a.text(2))
}

// readWhen says that it runs, waits until it is told, and reads.
func readWhen(a arguments) error {
	if err := os.WriteFile(a.text(1), nil, 0o644); err != nil {
		return setup("say that it runs", err)
	}
	if !await(func() bool { _, err := os.Lstat(a.text(2)); return err == nil }) {
		return setup("wait", os.ErrDeadlineExceeded)
	}
	begun()
	return show(a.text(0))
}

func readMapped(a arguments) error {
	fd, err := unix.Open(a.text(0), unix.O_RDONLY, 0)
	begun()
	if err != nil {
		return err
	}
	text, err := unix.Mmap(fd, 0, 64, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	fmt.Printf("%q\n", strings.TrimRight(string(text), "\x00"))
	return nil
}

// statOf wants the size that is given: a tmpfs or an empty file over the path
// also answers.
func statOf(a arguments) error {
	begun()
	var st unix.Stat_t
	if err := unix.Lstat(a.text(0), &st); err != nil {
		return err
	}
	if st.Size != int64(a.number(1)) {
		return fmt.Errorf("size %d: another file", st.Size)
	}
	return nil
}

// listOf wants a name in a directory.
func listOf(a arguments) error {
	begun()
	entries, err := os.ReadDir(a.text(0))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == a.text(1) {
			return nil
		}
	}
	return fmt.Errorf("%d names, not that one", len(entries))
}

// pointer is for arguments of system calls.
func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }
