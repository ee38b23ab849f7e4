//go:build amd64 || arm64

package probes

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victimMemory holds the victim's secret. A variable of the package does not
// move, as one on a stack may.
var victimMemory [64]byte

// victim is a process of the same user outside the sandbox. It prints the
// address of its secret, then its state for each line that it reads, and ends
// with its input.
func victim() int {
	// Under Yama's ptrace_scope 1 only descendants could be traced, and the
	// controls would show nothing.
	_ = unix.Prctl(unix.PR_SET_PTRACER, unix.PR_SET_PTRACER_ANY, 0, 0, 0)
	copy(victimMemory[:], os.Getenv(secretVar))
	var signals atomic.Int64
	caught := make(chan os.Signal, 64)
	for n := unix.Signal(1); n < 65; n++ {
		// The Go runtime sends SIGURG to itself; SIGCHLD is nobody's attack.
		if n != unix.SIGURG && n != unix.SIGCHLD && n != unix.SIGKILL && n != unix.SIGSTOP {
			signal.Notify(caught, n)
		}
	}
	go func() {
		for range caught {
			signals.Add(1)
		}
	}()
	fmt.Printf("%d\n", uintptr(unsafe.Pointer(&victimMemory)))
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return 0
		}
		fmt.Printf("signals %d, limits %s, memory %s\n", signals.Load(), limits(), hex.EncodeToString(victimMemory[:]))
	}
}

// limits are what another process could change about this one.
func limits() string {
	var files, core unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	_ = unix.Getrlimit(unix.RLIMIT_CORE, &core)
	nice, _ := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	var cpus unix.CPUSet
	_ = unix.SchedGetaffinity(os.Getpid(), &cpus)
	score, _ := os.ReadFile("/proc/self/oom_score_adj")
	return fmt.Sprintf("%d %d %d %d %q", files.Cur, core.Cur, nice, cpus.Count(), score)
}
