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
	name        string
	one         func() error
	width, size int // how many at once, and in a block
	gc          int // percent, of the collector meanwhile
	failed      atomic.Int64
	first       atomic.Pointer[error]
	runs        int
}

// process is a crowd of processes.
func (o options) process(name string, argv ...string) *crowdOf {
	run := o.candidate("", argv...).run
	return &crowdOf{name: name, gc: -1, width: crowdWidth, size: crowdBlock, one: func() error { _, err := run(); return err }}
}

// block runs the command size times, width at once.
func (c *crowdOf) block() (time.Duration, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(c.gc))
	c.runs += c.size
	work := make(chan struct{}, c.size)
	for range c.size {
		work <- struct{}{}
	}
	close(work)
	var all sync.WaitGroup
	start := time.Now()
	for range c.width {
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
	crowds := []*crowdOf{
		o.process(manySbx, o.sbx, "exec", "--tier", "full", "--workspace", o.workspace(), "--", "/bin/true"),
		{name: manyRun, gc: 100, width: crowdWidth, size: crowdBlock, one: engine},
		{name: manyRunGC, gc: 1, width: crowdWidth, size: crowdBlock, one: engine},
	}
	if bwrap, err := o.other(manyBwrap, o.bwrapLike(spots)); err == nil {
		crowds = append(crowds, &crowdOf{
			name: manyBwrap, gc: -1, width: crowdWidth, size: crowdBlock,
			one: func() error { _, err := bwrap.run(); return err },
		})
	}
	all, err := gather(w, fmt.Sprintf("%d at once, %s: %d blocks of %d runs of /bin/true", crowdWidth, o.who(), crowdBlocks, crowdBlock), crowdBlocks, crowds)
	if err != nil {
		return err
	}
	for _, name := range []string{manySbx, manyRun} {
		rates(w, all, name, manyBwrap, target)
	}
	for _, c := range crowds[:3] {
		fmt.Fprintf(w, "  no failure in %d runs, %s: %s\n", c.runs, c.name, verdict(c.failed.Load() == 0 && c.runs >= 2000))
	}
	return nil
}

// gather measures crowds, and prints how fast each was and what failed.
func gather(w io.Writer, title string, blocks int, crowds []*crowdOf) ([]series, error) {
	candidates := make([]candidate, len(crowds))
	for i, c := range crowds {
		candidates[i] = candidate{name: c.name, run: c.block}
	}
	all, err := interleave(blocks, candidates)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for i, c := range crowds {
		rate := float64(c.size) / all[i].median().Seconds()
		fmt.Fprintf(w, "  %6.1f runs a second, %d of %d failed  %s\n", rate, c.failed.Load(), c.runs, c.name)
		if err := c.first.Load(); err != nil {
			fmt.Fprintf(w, "         the first: %v\n", *err)
		}
	}
	return all, nil
}

// rates prints a target of runs a second.
func rates(w io.Writer, all []series, name, than string, target float64) {
	of, by := find(all, name), find(all, than)
	if of == nil || by == nil {
		fmt.Fprintf(w, "  runs a second, %s / %s: not measured here (target at least %.1f)\n", name, than, target)
		return
	}
	r := ratio(*by, *of) // of times: the inverse is that of rates
	fmt.Fprintf(w, "  runs a second, %s / %s = %.2f (target at least %.1f: %s)\n", name, than, r, target, verdict(r >= target))
}
