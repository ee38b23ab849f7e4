//go:build linux

package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/bench/corpus"
	"github.com/sbx-run/sbx/shell"
)

// readingPasses is how often the corpus is read and counted, after one pass
// that is not.
const readingPasses = 3

// reading measures read, classify and guard in process over the corpus.
func reading(w io.Writer, _ options) error {
	const meanTarget, tailTarget = 35 * time.Microsecond, 400 * time.Microsecond
	commands, err := allCommands(corpus.Dir())
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the collector's work belongs to the figure
	where := shell.Where{Cwd: "/home/dev/app", Home: "/home/dev", User: "dev"}
	times := make([]time.Duration, 0, readingPasses*len(commands))
	for pass := range 1 + readingPasses {
		for _, command := range commands {
			start := time.Now()
			sbx.Check(sbx.Request{Text: command}, where)
			took := time.Since(start)
			if pass > 0 {
				times = append(times, took)
			}
		}
	}
	slices.Sort(times)
	var sum time.Duration
	for _, t := range times {
		sum += t
	}
	mean, all := sum/time.Duration(len(times)), series{times: times}
	fmt.Fprintf(w, "\nRead, classify and guard in process: %d commands of %s, %d passes\n", len(commands), corpus.Dir(), readingPasses)
	fmt.Fprintf(w, "  mean %s µs (target at most %s: %s)\n", us(mean), us(meanTarget), verdict(mean <= meanTarget))
	fmt.Fprintf(w, "  p50 %s, p99 %s µs (target at most %s: %s), max %s µs\n",
		us(all.median()), us(all.at(0.99)), us(tailTarget), verdict(all.at(0.99) <= tailTarget), us(all.at(1)))
	return nil
}

func allCommands(dir string) ([]string, error) {
	files, err := corpus.Files(dir)
	if err != nil {
		return nil, err
	}
	var commands []string
	for _, file := range files {
		more, err := corpus.Read(file)
		if err != nil {
			return nil, err
		}
		commands = append(commands, more...)
	}
	return commands, nil
}

func us(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Microsecond)) }
