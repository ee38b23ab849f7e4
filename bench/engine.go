//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/sbx-run/sbx"
)

const (
	plainExec  = "os/exec of /bin/true"
	engineRun  = "Engine.Run of /bin/true, tier landlock"
	engineFull = "Engine.Run of /bin/true, tier full"
)

// engine measures a command started from this process, which lives on: with a
// small heap, then with one whose pages a fork would have to copy.
func engine(w io.Writer, o options) error {
	candidates := []candidate{{name: plainExec, run: func() (time.Duration, error) {
		start := time.Now()
		err := exec.Command("/bin/true").Run()
		return time.Since(start), err
	}}}
	for _, tier := range []struct{ name, row string }{{"landlock", engineRun}, {"full", engineFull}} {
		e, err := sbx.New(sbx.Options{Workspace: o.workspace(), Environ: o.env(), Tier: tier.name})
		if err != nil {
			return err
		}
		defer e.Close()
		candidates = append(candidates, candidate{name: tier.row, run: func() (time.Duration, error) {
			start := time.Now()
			result, err := e.Run(context.Background(), sbx.Request{Argv: []string{"/bin/true"}})
			took := time.Since(start)
			if err == nil && result.ExitCode != 0 {
				err = fmt.Errorf("exit status %d", result.ExitCode)
			}
			return took, err
		}})
	}
	bounds := []bound{{of: engineRun, by: plainExec, atMost: 1.6}, {of: engineFull, by: plainExec, atMost: 1.8}}

	defer debug.SetGCPercent(debug.SetGCPercent(100))
	if err := compare(w, "From a long-running process", o.rounds, candidates, bounds); err != nil {
		return err
	}
	heap := touched(300 << 20)
	err := compare(w, "The same with 300 MB in use", o.rounds, candidates, bounds)
	runtime.KeepAlive(heap)
	return err
}

// touched allocates memory and writes to every page of it.
func touched(size int) []byte {
	heap := make([]byte, size)
	for i := 0; i < len(heap); i += 4096 {
		heap[i] = 1
	}
	return heap
}
