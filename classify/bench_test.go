package classify_test

import (
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// BenchmarkClassify measures Classify alone, a whole corpus per round.
func BenchmarkClassify(b *testing.B) {
	rows := readCorpus(&testing.T{}, "public.jsonl")
	scripts := make([]*shell.Script, len(rows))
	for i, r := range rows {
		scripts[i] = shell.ParseAt(r.Cmd, shell.Bash, here)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, s := range scripts {
			classify.Classify(s)
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/command")
}
