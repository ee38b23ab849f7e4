//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sbx-run/sbx/bench/corpus"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/shell"
)

// decision measures the permission gate without a store, over the corpus: what a
// session was granted, two policies, no question.
func decision(w io.Writer, _ options) error {
	const target = 20 * time.Microsecond
	commands, err := allCommands(corpus.Dir())
	if err != nil {
		return err
	}
	where := shell.Where{Cwd: "/home/dev/app", Home: "/home/dev", User: "dev"}
	calls := make([]permit.Call, len(commands))
	for i, command := range commands {
		calls[i] = permit.Read(command, where)
	}
	granted := &permit.Sessions{}
	_ = granted.Grant("s", permit.ParseGrant("bash:writes_file+deletes"), permit.ParseGrant("write_file:any"), permit.ParseGrant("browser:network"))
	who := permit.Caller{Agent: "a", Session: "s"}
	rules, err := permit.Load([]permit.Rule{
		{Name: "no-push", Argv: []string{"git", "push"}, Verdict: "deny", Because: "releases are pushed by hand"},
		{Name: "keys", Path: "/srv/keys", Verdict: "ask", Because: "who needs a key?"},
	}, nil)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the collector's work belongs to the figure
	fmt.Fprintf(w, "\nThe decision of the permission gate, without a store: %d commands, %d passes\n", len(commands), readingPasses)
	for _, row := range []struct {
		name string
		gate *permit.Gate
	}{
		{"grants of a session", &permit.Gate{Sessions: granted}},
		{"and two policies", &permit.Gate{Sessions: granted, Policies: rules}},
	} {
		times := make([]time.Duration, 0, readingPasses*len(calls))
		for pass := range 1 + readingPasses {
			for i := range calls {
				start := time.Now()
				_, _ = row.gate.Foresee(context.Background(), calls[i], who, true) // a refusal is a decision, too
				if took := time.Since(start); pass > 0 {
					times = append(times, took)
				}
			}
		}
		slices.Sort(times)
		all := series{times: times}
		fmt.Fprintf(w, "  %-20s p50 %s, p99 %s µs", row.name, us(all.median()), us(all.at(0.99)))
		if row.gate.Policies == nil {
			fmt.Fprintf(w, " (target for the median at most %s: %s)", us(target), verdict(all.median() <= target))
		}
		fmt.Fprintln(w)
	}
	return nil
}
