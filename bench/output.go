//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// outputBytes is what passes through a pipe.
const outputBytes = 1 << 30

// output compares the command's standard output through sbx with a plain pipe: a
// file that is read (it is in memory by then), and zeros in writes of 8 KiB, which
// take so little that the start and each system call count: beside them stands
// what the kernel takes for any filter of system calls. The bound is one of times:
// 0.95 times the throughput is 1/0.95 the time.
func output(w io.Writer, o options) error {
	file := filepath.Join(o.workspace(), "output")
	if err := fill(file); err != nil {
		return err
	}
	defer os.Remove(file)
	cat := []string{"/bin/cat", file}
	head := []string{"/usr/bin/head", "-c", fmt.Sprint(outputBytes), "/dev/zero"}
	sbx := []string{o.sbx, "exec", "--backend", "direct", "--workspace", o.workspace(), "--"}
	candidates := []candidate{
		{name: "cat FILE | reader", run: o.piped(cat)},
		{name: "sbx exec -- cat FILE | reader", run: o.piped(slices.Concat(sbx, cat))},
		{name: "head | reader", run: o.piped(head)},
		{name: "sbx exec -- head | reader", run: o.piped(slices.Concat(sbx, head))},
	}
	bounds := []bound{
		{of: "sbx exec -- cat FILE | reader", by: "cat FILE | reader", atMost: 1 / 0.95},
		{of: "sbx exec -- head | reader", by: "head | reader", atMost: 1 / 0.95},
	}
	if _, err := os.Stat(o.helper("floor")); err == nil {
		const filtered = "head under a filter of 1 instruction | reader"
		floor := []string{o.helper("floor"), "caps", "seccomp=" + o.helper("allow.bpf"), "--"}
		candidates = append(candidates, candidate{name: filtered, run: o.piped(slices.Concat(floor, head))})
		bounds = append(bounds, bound{of: filtered, by: "head | reader"}, bound{of: "sbx exec -- head | reader", by: filtered})
	}
	return compare(w, "1 GiB of standard output", max(5, o.rounds/10), candidates, bounds)
}

// fill makes a file of outputBytes.
func fill(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	block := bytes.Repeat([]byte("some output of a program\n"), 1<<20/25+1)[:1<<20]
	for range outputBytes >> 20 {
		if _, err := f.Write(block); err != nil {
			return err
		}
	}
	return f.Close()
}

// piped times a program whose standard output this process reads to the end.
func (o options) piped(argv []string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return 0, err
		}
		defer null.Close()
		var pipe [2]int
		if err := syscall.Pipe2(pipe[:], syscall.O_CLOEXEC); err != nil {
			return 0, err
		}
		defer syscall.Close(pipe[0])
		start := time.Now()
		pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
			Dir: o.workspace(), Env: o.env(), Files: []uintptr{null.Fd(), uintptr(pipe[1]), null.Fd()},
		})
		syscall.Close(pipe[1])
		if err != nil {
			return 0, err
		}
		got, readErr := drain(pipe[0])
		status, err := reap(pid)
		took := time.Since(start)
		switch {
		case err != nil:
			return 0, err
		case readErr != nil:
			return 0, readErr
		case succeeded(status) != nil:
			return 0, succeeded(status)
		case got != outputBytes:
			return 0, fmt.Errorf("read %d of %d bytes", got, outputBytes)
		}
		return took, nil
	}
}

// drain reads a descriptor to its end, past the runtime's poller.
func drain(fd int) (total int, err error) {
	buffer := make([]byte, 1<<17)
	for {
		n, err := syscall.Read(fd, buffer)
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return total, err
		}
		total += n
	}
}
