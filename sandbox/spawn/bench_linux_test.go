//go:build amd64 || arm64

package spawn

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The cost of starting a program by a table, against fork and exec of Go.
func BenchmarkStart(b *testing.B) {
	b.Run("os-exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("forkexec", func(b *testing.B) {
		for b.Loop() {
			pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
			if err != nil {
				b.Fatal(err)
			}
			unix.Wait4(pid, nil, 0, nil)
		}
	})
	for _, v := range []struct {
		name  string
		flags uintptr
	}{{"table", 0}, {"vfork", unix.CLONE_VFORK}} {
		b.Run(v.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for b.Loop() {
				pipes, err := NewPipes(0)
				if err != nil {
					b.Fatal(err)
				}
				p := NewPlan()
				p.Exec("/bin/true", []string{"true"}, nil)
				pid, err := p.Start(v.flags, pipes)
				if err != nil {
					b.Fatal(err)
				}
				unix.Wait4(pid, nil, 0, nil)
				pipes.Close()
			}
		})
	}
}
