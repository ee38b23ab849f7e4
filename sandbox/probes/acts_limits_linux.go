//go:build amd64 || arm64

package probes

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// limitActs use a known amount of something. Where nothing ends them, they end
// by themselves.
func limitActs() []act {
	return []act{
		{"crowd", func(a arguments) error { begun(); return crowd(a.number(0)) }},
		{"hold", func(a arguments) error { begun(); return hold(a.number(0), a.number(1)) }},
		{"fill", func(a arguments) error { begun(); return fill(a.text(0), a.number(1), a.number(2)) }},
		{"spin", func(a arguments) error { begun(); return spin(time.Duration(a.number(0)) * time.Millisecond) }},
	}
}

// crowd starts processes that sleep, ends them a moment later, and returns the
// first refusal.
func crowd(number int) error {
	sleep, err := lookPath("sleep", os.Environ())
	if err != nil {
		return setup("find sleep", err)
	}
	var failed error
	var started []*os.Process
	for range number {
		p, err := os.StartProcess(sleep, []string{"sleep", "10"}, &os.ProcAttr{})
		if err != nil {
			failed = err
			continue
		}
		started = append(started, p)
	}
	time.Sleep(200 * time.Millisecond)
	for _, p := range started {
		_ = p.Kill()
		_, _ = p.Wait()
	}
	return failed
}

// hold takes some MiB of memory and keeps them for some milliseconds.
func hold(mebibytes, milliseconds int) error {
	held := make([]byte, mebibytes<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	if held[len(held)-4096] != 1 {
		return unix.EIO
	}
	return nil
}

// fill writes some MiB to a file and waits for some milliseconds.
func fill(name string, mebibytes, milliseconds int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	chunk := make([]byte, 1<<20)
	for range mebibytes {
		if _, err := f.Write(chunk); err != nil {
			return err
		}
	}
	time.Sleep(time.Duration(milliseconds) * time.Millisecond)
	return nil
}

// spin uses processor time.
func spin(much time.Duration) error {
	for {
		var r unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil || time.Duration(r.Utime.Nano()+r.Stime.Nano()) > much {
			return err
		}
	}
}
