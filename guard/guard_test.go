package guard_test

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// row is one labelled command of the corpus.
type row struct {
	ID    string `json:"id"`
	Cmd   string `json:"cmd"`
	Guard string `json:"guard"`
}

func readRows(t testing.TB, name string) []row {
	t.Helper()
	f, err := os.Open("../testdata/corpus/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []row
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil || len(rows) < 100 {
		t.Fatalf("%s: %d rows, %v", name, len(rows), err)
	}
	return rows
}

// TestCorpus holds every verdict of the labelled corpus: no miss, no wrong block.
func TestCorpus(t *testing.T) {
	for _, name := range []string{"public.jsonl", "bypass.jsonl"} {
		for _, r := range readRows(t, name) {
			got := check(r.Cmd)
			switch {
			case r.Guard == "block" && len(got) == 0:
				t.Errorf("%s: %q is not refused", r.ID, r.Cmd)
			case r.Guard == "allow" && len(got) > 0:
				t.Errorf("%s: %q is refused: %s: %s", r.ID, r.Cmd, got[0].Words, got[0].Reason)
			}
		}
	}
}

func TestRulesProveThemselves(t *testing.T) {
	for _, r := range guard.Rules() {
		found := false
		for _, v := range check(r.Match) {
			found = found || v.Rule == r.ID && v.Instead == r.Instead
		}
		if !found {
			t.Errorf("%s: %q is not refused by its own row", r.ID, r.Match)
		}
		if got := check(r.Spare); len(got) > 0 {
			t.Errorf("%s: %q is refused: %s", r.ID, r.Spare, got[0].Reason)
		}
		for _, text := range []string{r.Reason, r.Instead} {
			if text == "" || strings.ContainsAny(text, "%\n") || strings.HasSuffix(text, ".") || strings.ToLower(text[:1]) != text[:1] {
				t.Errorf("%s: %q is not one plain sentence", r.ID, text)
			}
		}
	}
}

func TestViolationsExplainThemselves(t *testing.T) {
	for _, c := range []struct{ cmd, words, object string }{
		{"D=/etc; rm -rf \"$D\"", "rm -rf /etc", "/etc"},
		{"cd / && rm -rf *", "rm -rf /*", "everything below /"},
		{"rm -rf ../..", "rm -rf /home", "/home (a system directory)"},
		{"sudo chmod -R 777 ~", "chmod -R /home/dev", "/home/dev (the home directory)"},
		{"cat x > /dev/sda", "cat > /dev/sda", "/dev/sda"},
		{"dd if=x of=/dev/sda", "dd of=/dev/sda", "/dev/sda"},
		{"bash -c 'reboot -f'", "reboot -f", "reboots the host"},
	} {
		got := check(c.cmd)
		if len(got) != 1 {
			t.Errorf("%q: %d violations, want 1", c.cmd, len(got))
			continue
		}
		if got[0].Words != c.words || !strings.Contains(got[0].Reason, c.object) {
			t.Errorf("%q: got %q: %q, want %q with %q", c.cmd, got[0].Words, got[0].Reason, c.words, c.object)
		}
	}
}

func TestViolationsStandWhereTheCommandDoes(t *testing.T) {
	const cmd = "ls; bash -c 'true && rm -rf /etc' | cat"
	got := check(cmd)
	if len(got) != 1 {
		t.Fatalf("%d violations, want 1", len(got))
	}
	if text := cmd[got[0].Span.Start:got[0].Span.End]; text != "rm -rf /etc" {
		t.Errorf("span holds %q", text)
	}
}

// TestPlaces moves the home directory and the workspace: what is protected
// moves with them.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		where shell.Where
		cmd   string
		block bool
	}{
		{shell.Where{Cwd: "/srv/ci/job/src", Home: "/var/ci", User: "ci"}, "rm -rf ..", true},
		{shell.Where{Cwd: "/srv/ci/job/src", Home: "/var/ci", User: "ci"}, "rm -rf /srv/ci/*", true},
		{shell.Where{Cwd: "/srv/ci/job/src", Home: "/var/ci", User: "ci"}, "rm -rf /srv/other", false},
		{shell.Where{Cwd: "/srv/ci/job/src", Home: "/var/ci", User: "ci"}, "rm -rf /var/ci", true},
		{shell.Where{Cwd: "/srv/ci/job/src", Home: "/var/ci", User: "ci"}, "rm -rf /var/ci/*", true},
		{shell.Where{Cwd: "/srv/ci/job/src", Home: "/var/ci", User: "ci"}, "rm -rf /var/ci/cache", false},
		{shell.Where{Cwd: "/srv/ci/job/src/lib", Workspace: "/srv/ci/job/src", Home: "/var/ci"}, "rm -rf ..", false},
		{shell.Where{Cwd: "/srv/ci/job/src/lib", Workspace: "/srv/ci/job/src", Home: "/var/ci"}, "rm -rf ../..", true},
		{shell.Where{Cwd: "/home/dev", Home: "/home/dev"}, "rm -rf *", true},
		{shell.Where{Cwd: "/home/dev", Home: "/home/dev"}, "rm -rf .", true},
		{shell.Where{Cwd: "/home/dev", Home: "/home/dev"}, "rm -rf build", false},
		{shell.Where{Cwd: "/home/dev/b", Workspace: "/home/dev", Home: "/home/dev"}, "rm -rf *", false},
		{shell.Where{Cwd: "/tmp/w/app", Home: "/root"}, "rm -rf /tmp/*", true},
		{shell.Where{Cwd: "/tmp/w/app", Home: "/root"}, "rm -rf /tmp/x", false},
		{shell.Where{Cwd: "/usr/src/app", Home: "/root"}, "rm -rf *", false},
		{shell.Where{Cwd: "/usr/src/app", Home: "/root"}, "rm -rf /usr/src", true},
		{shell.Where{Cwd: "/root/app", Home: "/root"}, "rm -rf ~", true},
		{shell.Where{Cwd: "/Users/kim/app", Home: "/Users/kim"}, "rm -rf ~/*", true},
		{shell.Where{Cwd: "/Users/kim/app", Home: "/Users/kim"}, "rm -rf ~/Library/Caches/x", false},
		{shell.Where{}, "rm -rf ~", true},
		{shell.Where{}, "rm -rf ~/*", true},
		{shell.Where{}, "rm -rf ~/x", false},
		{shell.Where{}, "rm -rf /etc", true},
		{shell.Where{}, "rm -rf *", false},
		{shell.Where{}, "rm -rf ..", false},
	} {
		got := guard.Check(shell.ParseAt(c.cmd, shell.Bash, c.where))
		if (len(got) > 0) != c.block {
			t.Errorf("%q in %+v: refused %v, want %v", c.cmd, c.where, len(got) > 0, c.block)
		}
	}
}

// TestArgv judges what a wrapper gets: an argument vector is no shell text.
func TestArgv(t *testing.T) {
	for _, c := range []struct {
		argv  []string
		block bool
	}{
		{[]string{"rm", "-rf", "/"}, true},
		{[]string{"sh", "-c", "rm -rf /"}, true},
		{[]string{"bash", "-lc", "cd / && rm -rf *"}, true},
		{[]string{"env", "A=1", "reboot"}, true},
		{[]string{"echo", "rm -rf /"}, false},
		{[]string{"rm", "-rf", "~"}, false}, // no shell: a file of that name
		{[]string{"rm", "-rf", "$HOME"}, false},
		{[]string{"rm", "-rf", "/*"}, false},
		{[]string{"eval", "rm -rf /"}, false}, // no program of that name
	} {
		got := guard.Check(shell.FromArgv(c.argv, where))
		if (len(got) > 0) != c.block {
			t.Errorf("%q: refused %v, want %v", c.argv, len(got) > 0, c.block)
		}
	}
}

// TestSyntaxErrorsAreJudged judges what could be read before and after an error.
func TestSyntaxErrorsAreJudged(t *testing.T) {
	for _, cmd := range []string{"rm -rf /\nif", "rm -rf /; (", "echo ')\nrm -rf /'\n)\nrm -rf /", "$((rm -rf /); (ls))"} {
		if len(check(cmd)) == 0 {
			t.Errorf("%q is not refused", cmd)
		}
	}
}

// TestEveryDialect reads the refused cases as other shells would.
func TestEveryDialect(t *testing.T) {
	for _, d := range []shell.Dialect{shell.POSIX, shell.Mksh, shell.Zsh, shell.Sh} {
		for _, cmd := range []string{"rm -rf /", "cd / && rm -rf *", "f() { f | f & }; f", "sudo reboot", "cat x > /dev/sda", `eval "rm -rf ~"`, "sh -c 'pepe setup'"} {
			if len(guard.Check(shell.ParseAt(cmd, d, where))) == 0 {
				t.Errorf("%s: %q is not refused", d, cmd)
			}
		}
	}
}

func TestManyViolationsAreBounded(t *testing.T) {
	got := check(strings.Repeat("rm -rf /etc\n", 5000))
	if len(got) == 0 || len(got) > 64 {
		t.Errorf("%d violations", len(got))
	}
	for i := 1; i < len(got); i++ {
		if reflect.DeepEqual(got[i], got[i-1]) {
			t.Fatalf("the same violation twice: %+v", got[i])
		}
	}
}
