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
	execBwrap  = "os/exec of bwrap, the mounts of tier full"
	floorServe = "floor in C, confined as tier full"
)

// engine measures a command started from this process, which lives on: with a
// small heap, then with one whose pages a fork would have to copy.
func engine(w io.Writer, o options) error {
	spots, err := o.layout()
	if err != nil {
		return err
	}
	candidates := []candidate{{name: plainExec, run: timed(execOf("/bin/true"))}}
	for _, tier := range []struct{ name, row string }{{"landlock", engineRun}, {"full", engineFull}} {
		one, done, err := o.engineOf(tier.name)
		if err != nil {
			return err
		}
		defer done()
		candidates = append(candidates, candidate{name: tier.row, run: timed(one)})
	}
	wrapper := o.bwrapLike(spots)
	if _, err := o.other(execBwrap, wrapper); err == nil {
		candidates = append(candidates, candidate{name: execBwrap, run: timed(execOf(append(wrapper, "/bin/true")...)), foreign: true})
	}
	if o.sameFloor(spots) == nil {
		words, err := o.floorArgs(spots)
		if err != nil {
			return err
		}
		s, err := o.serve("serve", words)
		if err != nil {
			return err
		}
		defer s.close()
		candidates = append(candidates, candidate{name: floorServe, run: s.run})
	}
	bounds := []bound{
		{of: engineRun, by: plainExec, atMost: 1.6},
		{of: engineFull, by: plainExec, atMost: 1.8},
		{of: engineFull, by: execBwrap, atMost: 0.5},
		{of: engineFull, by: floorServe},
		{of: floorServe, by: plainExec},
	}

	defer debug.SetGCPercent(debug.SetGCPercent(100))
	small, err := interleave(o.rounds, candidates)
	if err != nil {
		return err
	}
	if err := report(w, "From a long-running process, "+o.who(), o.rounds, small, bounds); err != nil {
		return err
	}
	heap := touched(300 << 20)
	large, err := interleave(o.rounds, candidates)
	runtime.KeepAlive(heap)
	if err != nil {
		return err
	}
	if err := report(w, "The same with 300 MB in use", o.rounds, large, bounds); err != nil {
		return err
	}
	growth(w, small, large)
	return nil
}

// growth says how much of a heap is felt: the time of tier full against that of
// the floor, which has no heap, so that a slower phase of the machine cancels
// out. Lower deciles: a difference so small drowns in medians of a busy machine.
func growth(w io.Writer, small, large []series) {
	const target = 1.05
	by := floorServe
	if find(small, by) == nil {
		by = plainExec
	}
	over := func(all []series) float64 {
		return float64(find(all, engineFull).at(0.1)) / float64(find(all, by).at(0.1))
	}
	r := over(large) / over(small)
	fmt.Fprintf(w, "  %s: growth with the heap, p10 over that of %s = %.2f (target at most %.2f: %s)\n", engineFull, by, r, target, verdict(r <= target))
}

// timed measures a function from here.
func timed(one func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		start := time.Now()
		err := one()
		return time.Since(start), err
	}
}

func execOf(argv ...string) func() error {
	return func() error { return exec.Command(argv[0], argv[1:]...).Run() }
}

// engineOf makes an engine for one tier and a function that runs /bin/true in it.
func (o options) engineOf(tier string) (one func() error, done func(), err error) {
	e, err := sbx.New(sbx.Options{Workspace: o.workspace(), Environ: o.env(), Tier: tier})
	if err != nil {
		return nil, nil, err
	}
	one = func() error {
		result, err := e.Run(context.Background(), sbx.Request{Argv: []string{"/bin/true"}})
		if err == nil && result.ExitCode != 0 {
			err = fmt.Errorf("exit status %d", result.ExitCode)
		}
		return err
	}
	return one, func() { _ = e.Close() }, nil
}

// touched allocates memory and writes to every page of it.
func touched(size int) []byte {
	heap := make([]byte, size)
	for i := 0; i < len(heap); i += 4096 {
		heap[i] = 1
	}
	return heap
}
