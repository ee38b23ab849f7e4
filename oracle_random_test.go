package sbx_test

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/shell"
)

// A text made at random from the pieces that shells and parsers disagree on:
// what bash really starts has to be in the reading. SBX_ORACLE=N runs N texts.

type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) word(depth int) string {
	var b strings.Builder
	for range 1 + g.IntN(3) {
		b.WriteString(g.piece(depth))
	}
	return b.String()
}

func (g generator) piece(depth int) string {
	switch g.IntN(22) {
	case 0:
		return "'" + g.pick("", "a b", "#", ";", "$(bad)", "`bad`", "\\", "\"", "\n", "(", "}") + "'"
	case 1:
		return `"` + g.pick("", "a b", "#", ";", "'", "\\\"", "\\$(bad)", "\\`", "$V", "${V}", "${V:-x}", "(", "}") + `"`
	case 2:
		return g.pick(`\ `, `\#`, `\;`, `\'`, `\"`, `\$`, `\(`, "\\\n", `\\`)
	case 3:
		return "#" + g.pick("a", "")
	case 4:
		return g.pick("$V", "${V}", "${#V}", "${V#v}", "${V%%e}", "${V/v/w}", "$#", "$$x", "${V:1:2}", "${V^^}", "$((1+2))", "$((16#ff))", "${U-d}", "${U:+d}")
	case 5:
		return g.pick("{a,b}", "{1..3}", "{a", "b}", "{}", "{a,{b,c}}", "{,x}", "{a..c}d")
	case 6:
		return `$'` + g.pick("a", `\x61`, `\'`, `\n`, "#", "\\101", `\u0062`) + `'`
	case 7, 8:
		if depth > 0 {
			return g.pick(`$(`, `"$(`) + g.list(depth-1) + g.pick("\n", "") + ")"
		}
	case 9:
		if depth > 0 {
			return "`" + g.simple(0) + "`"
		}
	case 10:
		if depth > 0 {
			return "<(" + g.list(depth-1) + ")"
		}
	case 11:
		return g.pick("*", "~", "=", "-", "+", "!", "%", "@", ":", "[a]", "?")
	}
	return g.pick("a", "b", "c1", "d.e", "f", "x=y")
}

func (g generator) simple(depth int) string {
	var b strings.Builder
	if g.IntN(6) == 0 {
		b.WriteString("W=" + g.word(0) + " ")
	}
	b.WriteString(g.pick("p1", "p2", "p3", "p'4'", `p\5`, `"p6"`, "p7", "$P", "env p8", "timeout 5 p9"))
	for range g.IntN(3) {
		b.WriteString(" " + g.word(depth))
	}
	if g.IntN(8) == 0 {
		b.WriteString(g.pick(" >o1", " 2>o2", " >>o3", " <in", " 2>&1", " &>o4", " >|o5"))
	}
	if g.IntN(10) == 0 {
		b.WriteString(" # comment " + g.pick("'", `"`, ")", "; bad", "$(bad)") + "\n")
	}
	return b.String()
}

func (g generator) list(depth int) string {
	if depth <= 0 {
		return g.simple(0)
	}
	switch g.IntN(16) {
	case 0:
		return "( " + g.list(depth-1) + "\n)"
	case 1:
		return "{ " + g.list(depth-1) + "; }"
	case 2:
		return "if " + g.simple(depth-1) + "; then " + g.list(depth-1) + "\nfi"
	case 3:
		return "for i in " + g.word(0) + " " + g.word(0) + "; do " + g.list(depth-1) + "; done"
	case 4:
		return "case " + g.word(0) + " in " + g.pick("a)", "*)", "(x|*)", "'#')") + " " + g.list(depth-1) + ";; esac"
	case 5:
		return "f() { " + g.list(depth-1) + "\n}; f"
	case 6:
		return g.simple(depth-1) + " | " + g.list(depth-1)
	case 7:
		return g.simple(depth-1) + " <<" + g.pick("E\n", "'E'\n", "\"E\"\n", "-E\n\t") + g.pick("x", "$(p1 h)", "`p2 h`", "\\$(bad)", "# y", "'") + "\nE\n" + g.list(depth-1)
	case 8:
		return "eval '" + strings.ReplaceAll(g.simple(0), "'", `'\''`) + "'"
	case 9:
		return "bash -c '" + strings.ReplaceAll(g.list(depth-1), "'", `'\''`) + "'"
	case 10:
		return "[[ " + g.pick("a == a", "-n x#y", "a#b == a*", "a < b") + " ]] && " + g.list(depth-1)
	case 11:
		return g.pick("(( 1 )) && ", "! ", "((16#f)) || ") + g.simple(depth-1)
	}
	return g.simple(depth) + g.pick("; ", " && ", " || ", "\n", " & ", ";\n") + g.list(depth-1)
}

func TestOracleRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("runs many commands")
	}
	requireDirect(t)
	n := 400
	if v, err := strconv.Atoi(os.Getenv("SBX_ORACLE")); err == nil {
		n = v
	}
	seed := uint64(1)
	if v, err := strconv.ParseUint(os.Getenv("SBX_ORACLE_SEED"), 10, 64); err == nil {
		seed = v
	}
	names := corpusRow{Cmd: "p1 p2 p3 p4 p5 p6 p7 p8 p9 bad env timeout bash v value"}
	o := newOracle(t, []corpusRow{names})
	// These run what they are given, so that nesting is exercised.
	for _, real := range []string{"env", "timeout", "bash"} {
		path, err := exec.LookPath(real)
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(filepath.Join(o.stubs, real))
		if err := os.Symlink(path, filepath.Join(o.stubs, real)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(o.work, "in"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		requireTool(t, "bash")
	}
	g := generator{rand.New(rand.NewPCG(seed, 7))}
	programs, unread := 0, 0
	for range n {
		text := "V=value P=p1\n" + g.list(3)
		s := shell.ParseAt(text, shell.Bash, shell.Where{Cwd: o.work, Home: filepath.Dir(o.work), User: "dev"})
		if s.Err != nil {
			unread++ // refused: it cannot hide anything
			continue
		}
		started, created := o.run(t, bash, text)
		for _, argv := range started {
			programs++
			if !startedBy(s, argv) {
				t.Errorf("%q\nthe shell started %q, which is not in the reading", text, argv)
			}
		}
		for _, name := range created {
			if !redirected(s, o.work, name) {
				t.Errorf("%q\nthe shell created %q, which no redirection says", text, name)
			}
		}
	}
	t.Logf("%d texts, %d not read, %d programs started", n, unread, programs)
	if programs < n/2 {
		t.Errorf("the oracle saw too little: %d programs in %d texts", programs, n)
	}
}

func redirected(s *shell.Script, work, name string) bool {
	for i := range s.Calls {
		for _, r := range s.Calls[i].Redirs {
			target := r.Target.Value
			if !filepath.IsAbs(target) {
				target = filepath.Join(s.Calls[i].Dir, target)
			}
			if r.Writes() && (!r.Target.Literal || target == filepath.Join(work, name)) {
				return true
			}
		}
	}
	return false
}
