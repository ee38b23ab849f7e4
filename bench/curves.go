//go:build linux

package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/shell"
)

// shape makes a text of about size bytes.
type shape struct {
	name string
	make func(size int) string
}

// repeated joins copies of a command.
func repeated(name, command, by string) shape {
	return shape{name, func(size int) string {
		n := max(1, size/(len(command)+len(by)))
		return strings.TrimSuffix(strings.Repeat(command+by, n), by)
	}}
}

// shapes are the ways in which a text gets long.
var shapes = []shape{
	repeated("a; b", "rm -rf build/x", "; "),
	repeated("a && b", "cp a.txt out/b.txt", " && "),
	repeated("a | b", "grep -v x", " | "),
	repeated("lines of a script", `echo "$(date) $name" >> log`, "\n"),
	repeated("subshells side by side", "( cd x && make all install DESTDIR=/tmp/out ) > log", "\n"),
	{"nested, then lines", func(size int) string {
		// Nesting has a bound of its own, so that a parser's stack has one.
		const open, line = "if a; then ", "rm -rf build/x; "
		deep := min(900, size/32)
		inner := max(1, (size-deep*(len(open)+4))/len(line))
		return strings.Repeat(open, deep) + strings.Repeat(line, inner) + "true" + strings.Repeat("; fi", deep)
	}},
}

// curves shows how the reading grows with the length of a text.
func curves(w io.Writer, _ options) error {
	const target = 60 * time.Millisecond
	sizes := [...]int{1 << 10, 10 << 10, 100 << 10, 1 << 20}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the collector's work belongs to the figure
	where := shell.Where{Cwd: "/home/dev/app", Home: "/home/dev", User: "dev"}
	fmt.Fprintf(w, "\nRead, classify and guard by length, median of 5, ms\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "1 KiB\t10 KiB\t100 KiB\t1 MiB\t  shape\t")
	met := true
	for _, s := range shapes {
		for _, size := range sizes {
			text := s.make(size)
			var times []time.Duration
			for range 5 {
				start := time.Now()
				r := sbx.Check(sbx.Request{Text: text}, where)
				times = append(times, time.Since(start))
				if why := r.Unread(); why != "" {
					return fmt.Errorf("%s of %d bytes: %s", s.name, len(text), why)
				}
			}
			slices.Sort(times)
			fmt.Fprintf(table, "%s\t", ms(times[2]))
			met = met && (size != 100<<10 || times[2] <= target)
		}
		fmt.Fprintf(table, "  %s\t\n", s.name)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "  100 KiB (target at most %s ms: %s)\n", ms(target), verdict(met))
	return nil
}
