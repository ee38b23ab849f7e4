package sbx_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// The oracle: harmless commands of the corpora run under a real shell whose
// PATH holds only stubs that record how they were started, in the sandbox of
// this project. Every program the shell really started has to be in
// Script.Calls, and every file it really created among the findings. What
// disagrees is a bug in the reading.

// stubSource is a program that notes its arguments and does nothing.
const stubSource = `package main

import (
	"encoding/json"
	"os"
	"path/filepath"
)

func main() {
	argv := append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)
	line, _ := json.Marshal(argv)
	f, err := os.OpenFile(os.Getenv("STUB_LOG"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		os.Exit(99)
	}
	f.Write(append(line, '\n'))
}
`

type oracle struct {
	engine *sbx.Engine
	stubs  string
	work   string
	log    string // another one for each run: what a run leaves behind must not count for the next
	runs   int
}

func newOracle(t *testing.T, rows []corpusRow) *oracle {
	t.Helper()
	base := t.TempDir()
	o := &oracle{stubs: filepath.Join(base, "stubs"), work: filepath.Join(base, "app")}
	for _, dir := range []string{o.stubs, o.work, filepath.Join(o.work, "src"), filepath.Join(o.work, "build"), filepath.Join(o.work, ".git/hooks")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(base, "stub.go")
	if err := os.WriteFile(source, []byte(stubSource), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(base, "stub"), source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build stub: %v\n%s", err, out)
	}
	for _, row := range rows {
		for name := range strings.FieldsFuncSeq(row.Cmd, func(r rune) bool {
			return !(r == '_' || r == '-' || r == '.' || r == '+' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
		}) {
			if strings.Trim(name, ".") != "" && len(name) < 100 {
				_ = os.Symlink(filepath.Join(base, "stub"), filepath.Join(o.stubs, name))
			}
		}
	}
	var err error
	o.engine, err = sbx.New(sbx.Options{Workspace: o.work, Read: []string{base}, Environ: []string{"HOME=" + base, "PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.engine.Close() })
	return o
}

// run executes one text and returns what was started and what was created.
func (o *oracle) run(t *testing.T, sh, text string) (started [][]string, created []string) {
	t.Helper()
	before := o.files()
	o.runs++
	o.log = filepath.Join(o.work, fmt.Sprintf(".stub-log-%d", o.runs))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// The reading has refused nothing here: the argument vector is the shell's,
	// and guard would open it again.
	_, err := o.engine.Run(ctx, sbx.Request{
		Argv: []string{"/usr/bin/env", "PATH=" + o.stubs, sh, "-c", text},
		Env:  []string{"STUB_LOG=" + o.log}, Timeout: 10 * time.Second,
	})
	if err != nil {
		t.Fatalf("run %q: %v", text, err)
	}
	f, err := os.Open(o.log)
	if err == nil {
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var argv []string
			if json.Unmarshal(lines.Bytes(), &argv) == nil {
				started = append(started, argv)
			}
		}
		f.Close()
	}
	_ = os.Remove(o.log)
	for _, name := range o.files() {
		if !slices.Contains(before, name) {
			created = append(created, name)
			_ = os.Remove(filepath.Join(o.work, name))
		}
	}
	return started, created
}

func (o *oracle) files() []string {
	var out []string
	_ = filepath.WalkDir(o.work, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), ".stub-log") {
			rel, _ := filepath.Rel(o.work, p)
			out = append(out, rel)
		}
		return nil
	})
	return out
}

// startedBy reports whether one call of the script explains an argument vector.
// A word that is not literal stands for any number of arguments.
func startedBy(s *shell.Script, argv []string) bool {
	for i := range s.Calls {
		c := &s.Calls[i]
		if len(c.Words) > 0 && explains(c.Words, argv, true, c.More) {
			return true
		}
	}
	return false
}

func explains(words []shell.Word, argv []string, program, more bool) bool {
	if len(words) == 0 {
		return len(argv) == 0 || more
	}
	w := words[0]
	if !w.Literal || w.Glob || w.Value == "{}" {
		for n := 0; n <= len(argv); n++ {
			if explains(words[1:], argv[n:], false, more) {
				return true
			}
		}
		return false
	}
	if len(argv) == 0 {
		return false
	}
	value := w.Value
	if program {
		value = filepath.Base(value)
	}
	return value == argv[0] && explains(words[1:], argv[1:], false, more)
}

// created reports whether a redirection of the script names a file, and the
// classification says that it is written.
func writes(s *shell.Script, findings []classify.Finding, work, name string) bool {
	for i := range s.Calls {
		for _, r := range s.Calls[i].Redirs {
			if !r.Writes() {
				continue
			}
			target := r.Target.Value
			if !filepath.IsAbs(target) {
				target = filepath.Join(s.Calls[i].Dir, target)
			}
			if r.Target.Literal && target != filepath.Join(work, name) {
				continue
			}
			for _, f := range findings {
				if f.Tag == classify.WritesFile && f.Span.Start < r.Span.End && r.Span.Start < f.Span.End {
					return true
				}
			}
		}
	}
	return false
}

func TestOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a thousand commands")
	}
	requireDirect(t)
	rows := corpusRows(t)
	o := newOracle(t, rows)
	for _, sh := range []struct {
		name    string
		dialect shell.Dialect
	}{{"bash", shell.Bash}, {"dash", shell.POSIX}} {
		t.Run(sh.name, func(t *testing.T) {
			path, err := exec.LookPath(sh.name)
			if err != nil {
				requireTool(t, sh.name)
			}
			ran, programs, files := 0, 0, 0
			for _, row := range rows {
				where := shell.Where{Cwd: o.work, Home: filepath.Dir(o.work), User: "dev"}
				s := shell.ParseAt(row.Cmd, sh.dialect, where)
				if s.Err != nil || !harmless(s) || row.Guard != "allow" {
					continue
				}
				ran++
				_, findings := classify.Classify(s)
				started, created := o.run(t, path, row.Cmd)
				for _, argv := range started {
					programs++
					if !startedBy(s, argv) {
						t.Errorf("%s %q: the shell started %q, which is not in the reading", row.ID, row.Cmd, argv)
					}
				}
				for _, name := range created {
					files++
					if !writes(s, findings, o.work, name) {
						t.Errorf("%s %q: the shell created %q, which no finding says", row.ID, row.Cmd, name)
					}
				}
			}
			t.Logf("%d commands, %d programs started, %d files created", ran, programs, files)
			if ran < 300 || programs < 300 || files < 20 && sh.name == "bash" {
				t.Errorf("the oracle saw too little: %d commands, %d programs, %d files", ran, programs, files)
			}
		})
	}
}

// harmless keeps away from programs that would really run: those named by a
// path exist, everything else is a stub.
func harmless(s *shell.Script) bool {
	if len(guard.Check(s)) > 0 {
		return false
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		if len(c.Words) > 0 && (!c.Words[0].Literal || strings.HasPrefix(c.Words[0].Value, "/")) {
			return false
		}
	}
	return true
}

// corpusRow is a labelled command of testdata/corpus.
type corpusRow struct {
	ID    string `json:"id"`
	Cmd   string `json:"cmd"`
	Guard string `json:"guard"`
}

func corpusRows(t *testing.T) []corpusRow {
	t.Helper()
	var rows []corpusRow
	for _, name := range []string{"public.jsonl", "bypass.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata/corpus", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var row corpusRow
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(fmt.Errorf("read %s: %w", name, err))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// requireDirect skips where the direct backend cannot work, unless SBX_REQUIRE
// asks for it.
func requireDirect(t *testing.T) {
	t.Helper()
	b, err := sbx.Backends().Lookup("direct")
	if err == nil {
		_, err = b.Probe(t.Context())
	}
	if err != nil {
		missing(t, "direct", err.Error())
	}
}

func requireTool(t *testing.T, name string) {
	t.Helper()
	missing(t, name, "not installed")
}

func missing(t *testing.T, what, why string) {
	t.Helper()
	if os.Getenv("SBX_REQUIRE") != "" {
		t.Fatalf("%s: %s, and SBX_REQUIRE is set", what, why)
	}
	t.Skipf("%s: %s", what, why)
}
