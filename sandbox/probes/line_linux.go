//go:build amd64 || arm64

package probes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// line is the rows of a run, in their order, and what came of them.
type line struct {
	rows     []Row
	progress func(Outcome)

	mu       sync.Mutex
	done     map[int]Outcome // those that wait for an earlier one
	outcomes []Outcome
}

// tryAll has the rows tried by several runners at a time: first, whatever was asked
// for, the one that shows that the probe program runs at all, then the rest, at the
// end those that need the machine for themselves.
func (l *line) tryAll(ctx context.Context, runners []*runner) error {
	l.done = map[int]Outcome{}
	runs := runners[0].try(selected([]string{"P00"})[0])
	if runs.Status == NotTried {
		return fmt.Errorf("start the probe program: %s", runs.Why)
	}
	var together, alone []int
	for i, row := range l.rows {
		switch {
		case row.ID == runs.ID:
			l.add(i, runs)
		case len(row.Setup.Limits.Asked()) > 0 || slices.Contains(row.Procedure, "limits-required"):
			alone = append(alone, i)
		default:
			together = append(together, i)
		}
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for _, r := range runners {
		group.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(together) {
					return
				}
				l.add(together[n], r.try(l.rows[together[n]]))
			}
		})
	}
	group.Wait()
	for _, i := range alone {
		if ctx.Err() != nil {
			break
		}
		l.add(i, runners[0].try(l.rows[i]))
	}
	return ctx.Err()
}

// add notes an outcome, and passes on those that nothing is missing before.
func (l *line) add(i int, out Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[i] = out
	for {
		out, ok := l.done[len(l.outcomes)]
		if !ok {
			return
		}
		delete(l.done, len(l.outcomes))
		l.outcomes = append(l.outcomes, out)
		if l.progress != nil {
			l.progress(out)
		}
	}
}
