//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

// pathCounts are how many further paths a profile names.
var pathCounts = [...]int{0, 10, 100, 1000}

// extraPaths shows what each further path of a profile costs.
func extraPaths(w io.Writer, o options) error {
	outside, inside := filepath.Join(o.dir, "many"), filepath.Join(o.workspace(), "many")
	for i := range pathCounts[len(pathCounts)-1] {
		for _, dir := range []string{outside, inside} {
			if err := os.MkdirAll(filepath.Join(dir, strconv.Itoa(i)), 0o700); err != nil {
				return err
			}
		}
	}
	defer os.RemoveAll(inside)
	spots, err := o.layout()
	if err != nil {
		return err
	}
	sbx := []string{o.sbx, "exec", "--tier", "full", "--workspace", o.workspace()}
	kinds := []struct {
		name   string
		argv   []string
		dir    string
		option []string // before each path
		twice  bool     // bwrap names source and target
		end    []string
	}{
		{"sbx --allow-write", sbx, outside, []string{"--allow-write"}, false, []string{"--"}},
		{"sbx --hide", sbx, outside, []string{"--hide"}, false, []string{"--"}},
		{"sbx --protect", sbx, inside, []string{"--protect"}, false, []string{"--"}},
		{"bwrap --bind", o.bwrapLike(spots), outside, []string{"--bind"}, true, nil},
	}
	rounds := max(5, o.rounds/20)
	fmt.Fprintf(w, "\nFurther paths, median ms of a whole process, /bin/true, %d rounds\n", rounds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "0\t10\t100\t1000\tµs a path\t  what\t")
	var missing []string
	for _, k := range kinds {
		var candidates []candidate
		for _, n := range pathCounts {
			argv := append([]string(nil), k.argv...)
			for i := range n {
				name := filepath.Join(k.dir, strconv.Itoa(i))
				argv = append(append(argv, k.option...), name)
				if k.twice {
					argv = append(argv, name)
				}
			}
			c, err := o.other(fmt.Sprintf("%s, %d paths", k.name, n), append(argv, k.end...))
			if err != nil {
				missing = append(missing, fmt.Sprintf("  %s, %d paths: not measured here: %v\n", k.name, n, err))
				break
			}
			candidates = append(candidates, c)
		}
		if len(candidates) < len(pathCounts) {
			continue
		}
		all, err := interleave(rounds, candidates)
		if err != nil {
			return err
		}
		for _, s := range all {
			fmt.Fprintf(table, "%s\t", ms(s.median()))
		}
		last := len(all) - 1
		each := float64((all[last].median() - all[0].median()).Microseconds()) / float64(pathCounts[last])
		fmt.Fprintf(table, "%.1f\t  %s\n", each, k.name)
	}
	err = table.Flush()
	fmt.Fprint(w, strings.Join(missing, ""))
	return err
}
