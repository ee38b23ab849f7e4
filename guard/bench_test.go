package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// BenchmarkCheck judges every row of the corpus; ns/cmd is the mean.
func BenchmarkCheck(b *testing.B) {
	var scripts []*shell.Script
	for _, r := range readRows(b, "public.jsonl") {
		scripts = append(scripts, shell.ParseAt(r.Cmd, shell.Bash, where))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range scripts {
			guard.Check(s)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(scripts)), "ns/cmd")
}

// BenchmarkLength shows that the time grows with the number of calls.
func BenchmarkLength(b *testing.B) {
	for _, unit := range []string{"ls -la src; ", "rm -rf build && ", "cat x | ", `rm -rf "$D"/*; `, "f() { f x; }; f; ", "python3 -c 'print(1)'; "} {
		for _, kb := range []int{1, 10, 100, 1000} {
			text := strings.Repeat(unit, kb<<10/len(unit)) + "ls"
			s := shell.ParseAt(text, shell.Bash, where)
			b.Run(fmt.Sprintf("%.8s/%dKB", strings.Fields(unit)[0], kb), func(b *testing.B) {
				for b.Loop() {
					guard.Check(s)
				}
			})
		}
	}
}
