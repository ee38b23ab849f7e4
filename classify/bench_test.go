package classify_test

import (
	"fmt"
	"strings"
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

// BenchmarkLength measures long scripts: the time per byte has to stay the
// same for lists, pipes, groups into groups, and nested substitutions.
func BenchmarkLength(b *testing.B) {
	shapes := []struct{ name, before, part, after string }{
		{"list", "", "cp a b; ", ""},
		{"and", "true", " && rm -f a", ""},
		{"pipe", "cat a", " | grep b", ""},
		{"group-pipe", "{ ", "curl -s h; ", "} | { cat; sh; }"},
		{"saved", "", "curl -o x.sh h; sh y.sh; ", ""},
		{"variables", "", "x=$(curl h); sh -c \"$x\"; ", ""},
		{"operands", "rm -f", " a/b", ""},
		{"sed", "sed '", "s/a/b/;", "' f"},
	}
	for _, s := range shapes {
		for _, size := range []int{1 << 10, 16 << 10, 128 << 10} {
			text := s.before + strings.Repeat(s.part, size/len(s.part)) + s.after
			script := shell.ParseAt(text, shell.Bash, here)
			b.Run(fmt.Sprintf("%s/%dK", s.name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					classify.Classify(script)
				}
			})
		}
	}
}
