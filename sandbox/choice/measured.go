package choice

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// patience bounds one measurement: an engine that hangs is not there.
const patience = 10 * time.Second

// How long a measurement is believed although the host looks the same. An engine
// is started and stopped without a trace that could be looked at cheaply.
const (
	believed       = 24 * time.Hour
	believedApart  = 10 * time.Minute
	believedFailed = time.Minute
)

// Measured is what a backend answered when it was asked what it can enforce.
type Measured struct {
	Capabilities sandbox.Capabilities
	Err          error // it does not work here
	When         time.Time

	backend sandbox.Backend
}

// Measure asks a backend, and keeps its answer in the store, which may be nil.
func Measure(ctx context.Context, b sandbox.Backend, store *Store) Measured {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m := Measured{When: time.Now(), backend: b}
	m.Capabilities, m.Err = b.Probe(ctx)
	m.Capabilities.Backend = b.Name()
	if ctx.Err() == context.DeadlineExceeded {
		m.Err = fmt.Errorf("no answer for %v: %w", patience, sandbox.ErrUnavailable)
	}
	store.save(m)
	return m
}

// MeasureAll asks all backends of a registry at the same time, in its order.
func MeasureAll(ctx context.Context, known *sandbox.Registry, store *Store) []Measured {
	return each(backends(known), func(b sandbox.Backend) Measured { return Measure(ctx, b, store) })
}

// RecallAll is MeasureAll, but what is known and fresh is not measured again.
func RecallAll(ctx context.Context, known *sandbox.Registry, store *Store) []Measured {
	return each(backends(known), func(b sandbox.Backend) Measured { return recall(ctx, b, store) })
}

func recall(ctx context.Context, b sandbox.Backend, store *Store) Measured {
	if m, ok := store.fresh(b); ok {
		return m
	}
	return Measure(ctx, b, store)
}

func backends(known *sandbox.Registry) []sandbox.Backend {
	var list []sandbox.Backend
	for _, name := range known.Names() {
		if b, err := known.Lookup(name); err == nil {
			list = append(list, b)
		}
	}
	return list
}

func each(list []sandbox.Backend, measure func(sandbox.Backend) Measured) []Measured {
	out := make([]Measured, len(list))
	var group sync.WaitGroup
	for i, b := range list {
		group.Go(func() { out[i] = measure(b) })
	}
	group.Wait()
	return out
}

// measured gives what each candidate can do, best first, or in the order of the
// caller. What is known and fresh is not measured again.
func (b *Backend) measured(ctx context.Context) []Measured {
	list := each(b.candidates(), func(c sandbox.Backend) Measured { return recall(ctx, c, b.store) })
	if b.order == nil {
		Rank(list)
	}
	return list
}

// Rank sorts by strength, the strongest first, and is pure. A backend that runs
// commands on this host's own files comes before one that shows them an image or
// another machine, whatever either enforces: the same command would be another one
// there. Then counts how many controls are enforced; among equals the order stays.
func Rank(list []Measured) {
	slices.SortStableFunc(list, func(a, b Measured) int {
		return cmp.Or(
			boolean(a.Err != nil)-boolean(b.Err != nil),
			boolean(a.Capabilities.Apart)-boolean(b.Capabilities.Apart),
			strength(b.Capabilities)-strength(a.Capabilities),
		)
	})
}

// strength counts the controls that are enforced. Limits are not: who asks for
// one requires it.
func strength(c sandbox.Capabilities) int {
	n := 0
	for _, control := range sandbox.Controls() {
		if slices.Contains(c.Enforced, control) && !slices.Contains(sandbox.LimitControls(), control) {
			n++
		}
	}
	return n
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}
