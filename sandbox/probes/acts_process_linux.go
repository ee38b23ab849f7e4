//go:build amd64 || arm64

package probes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processActs reach for other processes.
func processActs() []act {
	return []act{
		{"scan-environ", func(a arguments) error { return scanProc("environ") }},
		{"scan-cmdline", func(a arguments) error { return scanProc("cmdline") }},
		{"memory-read", func(a arguments) error { begun(); return memoryRead(a.number(0), int64(a.number(1))) }},
		{"memory-write", func(a arguments) error { begun(); return memoryWrite(a.number(0), int64(a.number(1))) }},
		{"vm-read", func(a arguments) error { begun(); return vmRead(a.number(0), uintptr(a.number(1))) }},
		{"vm-write", func(a arguments) error { begun(); return vmWrite(a.number(0), uintptr(a.number(1))) }},
		{"ptrace-poke", func(a arguments) error { begun(); return ptracePoke(a.number(0), uintptr(a.number(1))) }},
		{"ptrace-seize", func(a arguments) error { begun(); return unix.PtraceSeize(a.number(0)) }},
		{"ptrace-parent", func(arguments) error { begun(); return eachThread(os.Getppid(), unix.PtraceSeize) }},
		{"ptrace-first", func(arguments) error { begun(); return unix.PtraceSeize(1) }},
		{"memory-parent", func(arguments) error {
			begun()
			return eachThread(os.Getppid(), func(tid int) error {
				return closing(unix.Open("/proc/"+strconv.Itoa(tid)+"/mem", unix.O_RDWR, 0))
			})
		}},
		{"memory-first", func(arguments) error { begun(); return closing(unix.Open("/proc/1/mem", unix.O_RDWR, 0)) }},
		{"memory-open", func(a arguments) error {
			begun()
			return closing(unix.Open("/proc/"+a.text(0)+"/mem", unix.O_RDWR, 0))
		}},
		{"kill-parent", func(arguments) error { begun(); return unix.Kill(os.Getppid(), unix.SIGUSR1) }},
		{"tgkill-parent", func(arguments) error {
			begun()
			return eachThread(os.Getppid(), func(tid int) error { return unix.Tgkill(os.Getppid(), tid, unix.SIGUSR1) })
		}},
		{"kill", func(a arguments) error { begun(); return unix.Kill(a.number(0), unix.Signal(a.number(1))) }},
		{"kill-group", func(a arguments) error { begun(); return unix.Kill(-a.number(0), unix.SIGUSR1) }},
		{"tgkill", func(a arguments) error { begun(); return unix.Tgkill(a.number(0), a.number(0), unix.SIGUSR1) }},
		{"tkill", func(a arguments) error {
			begun()
			return call(unix.SYS_TKILL, uintptr(a.number(0)), uintptr(unix.SIGUSR1))
		}},
		{"sigqueue", sigqueue},
		{"pidfd-signal", pidfdSignal},
		{"owner-signal", ownerSignal},
		{"pidfd-getfd", pidfdGetfd},
		{"kcmp", func(a arguments) error {
			begun()
			return call(unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(a.number(0)), 1)
		}},
		{"prlimit", func(a arguments) error {
			begun()
			return unix.Prlimit(a.number(0), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 32, Max: 32}, nil)
		}},
		{"setpriority", func(a arguments) error { begun(); return unix.Setpriority(unix.PRIO_PROCESS, a.number(0), 15) }},
		{"setpriority-group", func(arguments) error {
			begun()
			now, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 minus the priority
			if err != nil {
				return err
			}
			return unix.Setpriority(unix.PRIO_PGRP, 0, 20-now)
		}},
		{"ioprio-group", func(arguments) error {
			begun()
			const group, none = 2, 0
			return call(unix.SYS_IOPRIO_SET, group, 0, none)
		}},
		{"affinity", affinity},
		{"oom-score", func(a arguments) error { return overwriteWith("/proc/"+a.text(0)+"/oom_score_adj", "900\n") }},
		{"setns", func(a arguments) error {
			fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0)
			if err != nil {
				return setup("open own namespace", err)
			}
			begun()
			return unix.Setns(fd, 0)
		}},
		{"descriptors", descriptors},
		{"descriptor-write", descriptorWrite},
		{"status-zero", statusZero},
		{"no-new-privileges", noNewPrivileges},
		{"effective-uid", effectiveUID},
		{"environment", environment},
	}
}

func call(trap uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(trap, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

// scanProc prints a file of every process that can be seen.
func scanProc(name string) error {
	begun()
	files, _ := filepath.Glob("/proc/[0-9]*/" + name)
	if len(files) == 0 {
		return unix.ENOENT
	}
	self := "/proc/" + strconv.Itoa(os.Getpid()) + "/"
	last := error(unix.ESRCH)
	for _, f := range files {
		if strings.HasPrefix(f, self) {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			last = err
			continue
		}
		for entry := range strings.SplitSeq(string(text), "\x00") {
			if strings.Contains(entry, secretMark) {
				fmt.Println(f, entry)
			}
		}
	}
	return last
}

func memoryRead(pid int, at int64) error {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/mem")
	if err != nil {
		return err
	}
	defer f.Close()
	text := make([]byte, 64)
	_, err = f.ReadAt(text, at)
	fmt.Printf("%q\n", text)
	return err
}

func memoryWrite(pid int, at int64) error {
	f, err := os.OpenFile("/proc/"+strconv.Itoa(pid)+"/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte("changed"), at)
	return err
}

func vmRead(pid int, at uintptr) error {
	text := make([]byte, 64)
	_, err := unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &text[0], Len: 64}}, []unix.RemoteIovec{{Base: at, Len: 64}}, 0)
	fmt.Printf("%q\n", text)
	return err
}

func vmWrite(pid int, at uintptr) error {
	text := []byte("changed")
	_, err := unix.ProcessVMWritev(pid, []unix.Iovec{{Base: &text[0], Len: 7}}, []unix.RemoteIovec{{Base: at, Len: 7}}, 0)
	return err
}

func ptracePoke(pid int, at uintptr) error {
	if err := unix.PtraceAttach(pid); err != nil {
		return err
	}
	var ws unix.WaitStatus
	_, _ = unix.Wait4(pid, &ws, unix.WALL, nil)
	_, err := unix.PtracePokeData(pid, at, []byte("changed!"))
	return errors.Join(err, unix.PtraceDetach(pid))
}

// eachThread tries an act on every thread of a process. It fails only when all
// of them refuse.
func eachThread(pid int, do func(tid int) error) error {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return err
	}
	last := error(unix.ESRCH)
	for _, e := range tasks {
		tid, _ := strconv.Atoi(e.Name())
		if last = do(tid); last == nil {
			return nil
		}
	}
	return last
}

// sigqueue sends a signal with a value; code SI_QUEUE is what users may send.
func sigqueue(a arguments) error {
	var info [128]byte
	queue := int32(-1)
	binary.NativeEndian.PutUint32(info[0:], uint32(unix.SIGUSR1))
	binary.NativeEndian.PutUint32(info[8:], uint32(queue))
	begun()
	return call(unix.SYS_RT_SIGQUEUEINFO, uintptr(a.number(0)), uintptr(unix.SIGUSR1), pointer(&info))
}

func pidfdSignal(a arguments) error {
	begun()
	fd, err := unix.PidfdOpen(a.number(0), 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
}

// ownerSignal lets the kernel send it: a pipe that has something to read.
func ownerSignal(a arguments) error {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return setup("pipe", err)
	}
	begun()
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, a.number(0)); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC); err != nil {
		return err
	}
	_, err := unix.Write(p[1], []byte("x"))
	return err
}

func pidfdGetfd(a arguments) error {
	begun()
	fd, err := unix.PidfdOpen(a.number(0), 0)
	if err != nil {
		return err
	}
	return closing(unix.PidfdGetfd(fd, 0, 0))
}

func affinity(a arguments) error {
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil {
		return setup("read affinity", err)
	}
	if now.Count() < 2 {
		return setup("narrow affinity", errors.New("only one processor"))
	}
	var one unix.CPUSet
	for cpu := range len(now) * int(unsafe.Sizeof(now[0])) * 8 {
		if now.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	begun()
	return unix.SchedSetaffinity(a.number(0), &one)
}

func overwriteWith(name, text string) error {
	begun()
	fd, err := unix.Open(name, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

// descriptors looks for one that leads to the place given.
func descriptors(a arguments) error {
	begun()
	for fd := 3; fd < 1024; fd++ {
		target, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err == nil && strings.HasPrefix(target, a.text(0)) {
			fmt.Println(fd, target)
			return nil
		}
	}
	return errors.New("none leads there")
}

func descriptorWrite(arguments) error {
	begun()
	last := error(unix.EBADF)
	for fd := 3; fd < 1024; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY {
			continue
		}
		target, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "/dev/") {
			continue // pipes and event descriptors of the runtime
		}
		if _, last = unix.Write(fd, []byte("changed from inside\n")); last == nil {
			return nil
		}
	}
	return last
}

// statusZero succeeds when one of the named fields of /proc/self/status is not
// zero: a capability is left.
func statusZero(a arguments) error {
	begun()
	for _, key := range a {
		value, err := status(key)
		if err != nil {
			return err
		}
		if strings.Trim(value, "0") != "" {
			fmt.Println(key, value)
			return nil
		}
	}
	return errors.New("all are empty")
}

func noNewPrivileges(arguments) error {
	begun()
	value, err := status("NoNewPrivs")
	if err == nil && value != "0" {
		err = errors.New("NoNewPrivs " + value)
	}
	return err
}

func status(key string) (string, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && k == key {
			return strings.TrimSpace(v), nil
		}
	}
	return "", fmt.Errorf("no %s in /proc/self/status", key)
}

func effectiveUID(a arguments) error {
	begun()
	if got := os.Geteuid(); got != a.number(0) {
		return fmt.Errorf("uid %d", got)
	}
	return nil
}

// environment succeeds when a variable is there.
func environment(a arguments) error {
	begun()
	for _, name := range a {
		if value, ok := os.LookupEnv(name); ok {
			fmt.Println(name, value)
			return nil
		}
	}
	return errors.New("absent")
}
