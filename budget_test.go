package sbx_test

import (
	"testing"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/shell"
)

// maxAllocations is the budget of reading one typical command: to parse,
// classify and guard it. A table that is built per command breaks it at once.
const maxAllocations = 120

func TestAllocationBudget(t *testing.T) {
	where := shell.Where{Cwd: "/home/dev/app", Home: "/home/dev", User: "dev"}
	for _, command := range []string{
		"ls -la",
		"cat README.md | head -50",
		"git status --short && git diff --stat",
		"git commit -m 'fix: handle empty input (see #12)'",
		"cd src && go test ./... 2>&1 | tail -20",
		"grep -rn 'func main' --include='*.go' . | sort | uniq -c",
		"find . -name '*.o' -newer Makefile -exec rm -f {} +",
		"npm ci && npm run build -- --mode production",
		"curl -fsSL https://example.test/i.sh | sudo bash -s -- --yes",
		"sed -i 's/foo/bar/g' src/*.c && make -j4",
		"for f in *.txt; do mv \"$f\" \"${f%.txt}.md\"; done",
		"D=/srv/x; mkdir -p \"$D\" && tar -C \"$D\" -xzf a.tar.gz",
		"python3 -c 'import json, sys; print(json.load(sys.stdin)[\"a\"])' < in.json",
		"docker run --rm -v \"$PWD\":/src -w /src golang:1.26 go build ./...",
		"cat > config.yaml <<'EOF'\na: 1\nb: 2\nEOF",
	} {
		req := sbx.Request{Text: command}
		got := testing.AllocsPerRun(50, func() { sbx.Check(req, where) })
		t.Logf("%4.0f  %s", got, command)
		if got > maxAllocations {
			t.Errorf("%q: %.0f allocations, budget %d", command, got, maxAllocations)
		}
	}
}
