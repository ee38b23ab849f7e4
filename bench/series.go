//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// candidate is one line of a table: something that is run and timed, over and over.
type candidate struct {
	name string
	run  func() (time.Duration, error)
	// foreign is a tool that is compared with: that it fails in a round is told,
	// and no reason to stop. A path that it was to hide may be gone by now.
	foreign bool
}

// bound is a target: the median of one candidate over that of another.
type bound struct {
	of, by string
	atMost float64 // 0: no target, the ratio is of interest
}

// series are the times of one candidate, sorted.
type series struct {
	name   string
	times  []time.Duration
	failed int // rounds
}

// warmUp is how many rounds run first and are not counted: files come into the
// page cache, private directories are made.
const warmUp = 3

// interleave runs every candidate once a round, so that a slow phase of the
// machine hits all alike. The order turns from round to round: no candidate
// always follows the same one.
func interleave(rounds int, candidates []candidate) ([]series, error) {
	all := make([]series, len(candidates))
	for i, c := range candidates {
		all[i] = series{name: c.name, times: make([]time.Duration, 0, rounds)}
	}
	for round := range warmUp + rounds {
		for i := range candidates {
			i = (i + round) % len(candidates)
			took, err := candidates[i].run()
			switch {
			case err != nil && candidates[i].foreign && all[i].failed < rounds/4:
				all[i].failed++
			case err != nil:
				return nil, fmt.Errorf("%s: %w", candidates[i].name, err)
			case round >= warmUp:
				all[i].times = append(all[i].times, took)
			}
		}
	}
	for _, s := range all {
		slices.Sort(s.times)
	}
	return all, nil
}

// at is the value below which the given share of the times lies.
func (s series) at(share float64) time.Duration {
	return s.times[int(share*float64(len(s.times)-1)+0.5)]
}

func (s series) median() time.Duration { return s.at(0.5) }

// compare measures candidates and prints their table, every ratio over the
// first one, and the targets below it.
func compare(w io.Writer, title string, rounds int, candidates []candidate, bounds []bound) error {
	all, err := interleave(rounds, candidates)
	if err != nil {
		return err
	}
	return report(w, title, rounds, all, bounds)
}

func report(w io.Writer, title string, rounds int, all []series, bounds []bound) error {
	fmt.Fprintf(w, "\n%s, %d rounds\n", title, rounds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "median ms\tp10\tp90\tratio\t  what\t")
	for _, s := range all {
		name := s.name
		if s.failed > 0 {
			name += fmt.Sprintf(" (failed in %d rounds)", s.failed)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.2f\t  %s\n", ms(s.median()), ms(s.at(0.1)), ms(s.at(0.9)), ratio(s, all[0]), name)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, b := range bounds {
		b.print(w, all)
	}
	return nil
}

func (b bound) print(w io.Writer, all []series) {
	of, by := find(all, b.of), find(all, b.by)
	if b.atMost == 0 {
		if of != nil && by != nil {
			fmt.Fprintf(w, "  %s / %s = %.2f\n", b.of, b.by, ratio(*of, *by))
		}
		return
	}
	if of == nil || by == nil {
		fmt.Fprintf(w, "  %s / %s: not measured here (target at most %.2f)\n", b.of, b.by, b.atMost)
		return
	}
	r := ratio(*of, *by)
	fmt.Fprintf(w, "  %s / %s = %.2f (target at most %.2f: %s)\n", b.of, b.by, r, b.atMost, verdict(r <= b.atMost))
}

func find(all []series, name string) *series {
	i := slices.IndexFunc(all, func(s series) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func ratio(of, by series) float64 { return float64(of.median()) / float64(by.median()) }

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "NOT met"
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }
