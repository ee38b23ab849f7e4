package hook

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

var update = flag.Bool("update", false, "write the wanted answers of testdata/hook anew")

// TestAnswers holds every example event against its wanted answer. Commands are
// judged by a stand-in, so that the answers do not change with the rules.
func TestAnswers(t *testing.T) {
	inputs, err := filepath.Glob("../testdata/hook/*/*.json")
	if err != nil || len(inputs) < 60 {
		t.Fatalf("found %d examples, %v", len(inputs), err)
	}
	seen := map[string]bool{}
	for _, input := range inputs {
		tool := filepath.Base(filepath.Dir(input))
		seen[tool] = true
		t.Run(tool+"/"+strings.TrimSuffix(filepath.Base(input), ".json"), func(t *testing.T) { testAnswer(t, tool, input) })
	}
	for _, name := range Names() {
		if !seen[name] {
			t.Errorf("no examples for %s", name)
		}
	}
}

func testAnswer(t *testing.T, tool, input string) {
	p, ok := Find(tool)
	if !ok {
		t.Fatalf("no protocol %q", tool)
	}
	src, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.TrimSuffix(input, ".json") + ".want"
	want, err := os.ReadFile(wanted)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(want), "\n")
	a := p.Answer(bytes.NewReader(src), exampleOptions(t, head))
	got := fmt.Sprintf("%s\nexit: %d\nstdout:\n%sstderr:\n%s", head, a.Code, a.Stdout, a.Stderr)
	if *update {
		if err := os.WriteFile(wanted, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.HasPrefix(filepath.Base(input), "broken-") {
		requireRefusal(t, p, a)
	}
	requireJSON(t, a)
}

// requireRefusal: by the exit status, or by the agent's word for it.
func requireRefusal(t *testing.T, p Protocol, a Answer) {
	t.Helper()
	if a.Code == 2 && strings.TrimSpace(a.Stderr) != "" {
		return
	}
	for _, word := range []string{`"permissionDecision":"deny"`, `{"decision":"deny"`, `{"permission":"deny"`} {
		if a.Code == 0 && strings.Contains(a.Stdout, word) {
			return
		}
	}
	t.Errorf("%s: not a refusal: %+v", p.Name, a)
}

// requireJSON: standard output is empty, or one object on one line.
func requireJSON(t *testing.T, a Answer) {
	t.Helper()
	if a.Stdout == "" {
		return
	}
	n, err := parseJSON([]byte(a.Stdout), false)
	if err != nil || n.kind != object || strings.Count(a.Stdout, "\n") != 1 {
		t.Errorf("standard output is not one line of JSON: %v\n%s", err, a.Stdout)
	}
}

// exampleOptions reads the first line of a wanted answer.
func exampleOptions(t *testing.T, line string) Options {
	t.Helper()
	o := Options{Home: "/home/dev", Check: standInCheck, Classify: standInClassify}
	for _, word := range strings.Fields(strings.TrimPrefix(line, "options:")) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "auto-allow":
			o.AutoAllow = true
		case "confine":
			o.Sbx = "/opt/sbx/bin/sbx"
		case "unasked":
			o.Unasked = None
		case "allow":
			for _, tag := range strings.Split(value, ",") {
				v, ok := classify.Parse(tag)
				if !ok {
					t.Fatalf("no tag %q", tag)
				}
				o.Allowed |= v
			}
		default:
			t.Fatalf("unknown option %q", word)
		}
	}
	return o
}

// standInCheck refuses rm of /, in whatever way the reader gets there.
func standInCheck(s *shell.Script) []guard.Violation {
	var out []guard.Violation
	for i, c := range s.Calls {
		for _, w := range c.Args() {
			if c.Name() == "rm" && (w.Value == "/" || w.Value == "*" && c.Dir == "/") {
				out = append(out, guard.Violation{
					Rule: "delete-system", Call: i, Span: c.Span, Words: "rm -rf " + w.Value,
					Reason: "it deletes the system", Instead: "name the directory you mean",
				})
			}
		}
	}
	return out
}

// standInClassify knows two programs and redirections.
func standInClassify(s *shell.Script) (classify.Tags, []classify.Finding) {
	var tags classify.Tags
	var out []classify.Finding
	found := func(i int, tag classify.Tags, span shell.Span, why string) {
		tags |= tag
		out = append(out, classify.Finding{Tag: tag, Rule: "stand-in", Call: i, Span: span, Words: s.Slice(span), Why: why})
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		switch c.Name() {
		case "rm":
			found(i, classify.Deletes, c.Span, "deletes files")
		case "curl":
			found(i, classify.Network, c.Span, "talks to the network")
		}
		for _, r := range c.Redirs {
			if r.Writes() {
				found(i, classify.WritesFile, r.Span, "writes a file")
			}
		}
	}
	return tags, out
}
