//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// memory prints the peak resident size of sbx's own process. It is read from
// the process while it lives: the figure of wait4 holds the size of the process
// that forked it as well.
func memory(w io.Writer, o options) error {
	const limit = 12_000_000
	peak, err := o.peak([]string{o.sbx, "exec", "--backend", "direct", "--workspace", o.workspace(), "--", "/bin/sleep", "0.3"})
	if err != nil {
		return err
	}
	empty, err := o.peak([]string{o.helper("spawn"), "/bin/sleep", "0.3"})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nPeak memory of the supervising process\n")
	fmt.Fprintf(w, "  Go os/exec: %.1f MB\n", float64(empty)/1e6)
	fmt.Fprintf(w, "  sbx exec: %.1f MB (target under %.0f: %s)\n", float64(peak)/1e6, float64(limit)/1e6, verdict(peak < limit))
	return nil
}

// peak runs argv and returns the last peak that the kernel reported of it.
func (o options) peak(argv []string) (bytes int64, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	fd := null.Fd()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Dir: o.workspace(), Env: o.env(), Files: []uintptr{fd, fd, fd}})
	if err != nil {
		return 0, err
	}
	for {
		now, ok := peakOf(pid)
		if !ok { // it has ended
			break
		}
		bytes = now
		time.Sleep(2 * time.Millisecond)
	}
	status, err := reap(pid)
	if err == nil {
		err = succeeded(status)
	}
	if err == nil && bytes == 0 {
		err = fmt.Errorf("no VmHWM in /proc/%d/status", pid)
	}
	return bytes, err
}

// peakOf reads VmHWM; a process that has ended has none.
func peakOf(pid int) (bytes int64, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err == nil
		}
	}
	return 0, false
}
