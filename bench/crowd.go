//go:build linux

package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// A crowd is many runs at once. A block of them is timed; all blocks together
// are the runs among which a failure would be found.
const (
	crowdWidth  = 64
	crowdBlock  = 125
	crowdBlocks = 16
)

// crowdOf is one way to run a command, with what went wrong.
type crowdOf struct {
	name   string
	one    func() error
	gc     int // percent, of the collector meanwhile
	failed atomic.Int64
	first  atomic.Pointer[error]
	runs   int
}

// block runs the command crowdBlock times, crowdWidth at once.
func (c *crowdOf) block() (time.Duration, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(c.gc))
	c.runs += crowdBlock
	work := make(chan struct{}, crowdBlock)
	for range crowdBlock {
		work <- struct{}{}
	}
	close(work)
	var all sync.WaitGroup
	start := time.Now()
	for range crowdWidth {
		all.Go(func() {
			for range work {
				if err := c.one(); err != nil {
					c.failed.Add(1)
					c.first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(start), nil
}

// crowd measures many commands at once, by processes and from this one.
func crowd(w io.Writer, o options) error {
	const (
		manySbx, manyBwrap = "sbx exec, tier full", "bwrap, the mounts of tier full"
		manyRun, manyRunGC = "Engine.Run, tier full", "Engine.Run, tier full, GOGC=1"
		target             = 1.3
	)
	spots, err := o.layout()
	if err != nil {
		return err
	}
	engine, done, err := o.engineOf("full")
	if err != nil {
		return err
	}
	defer done()
	process := func(argv ...string) func() error {
		run := o.candidate("", argv...).run
		return func() error { _, err := run(); return err }
	}
	crowds := []*crowdOf{
		{name: manySbx, gc: -1, one: process(o.sbx, "exec", "--tier", "full", "--workspace", o.workspace(), "--", "/bin/true")},
		{name: manyRun, gc: 100, one: engine},
		{name: manyRunGC, gc: 1, one: engine},
	}
	if bwrap, err := o.other(manyBwrap, o.bwrapLike(spots)); err == nil {
		crowds = append(crowds, &crowdOf{name: manyBwrap, gc: -1, one: func() error { _, err := bwrap.run(); return err }})
	}
	candidates := make([]candidate, len(crowds))
	for i, c := range crowds {
		candidates[i] = candidate{name: c.name, run: c.block}
	}
	all, err := interleave(crowdBlocks, candidates)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d at once, %s: %d blocks of %d runs of /bin/true\n", crowdWidth, o.who(), crowdBlocks, crowdBlock)
	for i, c := range crowds {
		rate := crowdBlock / all[i].median().Seconds()
		fmt.Fprintf(w, "  %6.0f runs a second, %d of %d failed  %s\n", rate, c.failed.Load(), c.runs, c.name)
		if err := c.first.Load(); err != nil {
			fmt.Fprintf(w, "         the first: %v\n", *err)
		}
	}
	for _, name := range []string{manySbx, manyRun} {
		of, by := find(all, name), find(all, manyBwrap)
		if by == nil {
			fmt.Fprintf(w, "  runs a second, %s / %s: not measured here (target at least %.1f)\n", name, manyBwrap, target)
			continue
		}
		r := ratio(*by, *of) // of times: the inverse is that of rates
		fmt.Fprintf(w, "  runs a second, %s / %s = %.2f (target at least %.1f: %s)\n", name, manyBwrap, r, target, verdict(r >= target))
	}
	for _, c := range crowds[:3] {
		fmt.Fprintf(w, "  no failure in %d runs, %s: %s\n", c.runs, c.name, verdict(c.failed.Load() == 0 && c.runs >= 2000))
	}
	return nil
}
