package secretsenv

import (
	"bufio"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// testCase is one line of cases.txt.
type testCase struct {
	line  int
	rule  Rule // "" stays
	entry string
}

const alphabet = "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ"

// expand writes <n> out as n letters and digits.
func expand(t testing.TB, s string) string {
	for {
		before, rest, ok := strings.Cut(s, "<")
		if !ok {
			return strings.ReplaceAll(s, `\n`, "\n")
		}
		count, after, ok := strings.Cut(rest, ">")
		n, err := strconv.Atoi(count)
		if !ok || err != nil {
			t.Fatalf("bad <n> in %q", s)
		}
		s = before + strings.Repeat(alphabet, n/len(alphabet)+1)[:n] + after
	}
}

func readCases(t testing.TB) []testCase {
	f, err := os.Open("../testdata/secretsenv/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []testCase
	scan := bufio.NewScanner(f)
	for n := 1; scan.Scan(); n++ {
		text := scan.Text()
		if text == "" || text[0] == '#' {
			continue
		}
		word, entry, ok := strings.Cut(text, " ")
		if !ok {
			t.Fatalf("line %d: want RULE NAME=value", n)
		}
		c := testCase{line: n, rule: Rule(word), entry: expand(t, entry)}
		if word == "keep" {
			c.rule = ""
		}
		cases = append(cases, c)
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestCases(t *testing.T) {
	cases := readCases(t)
	if len(cases) < 150 {
		t.Fatalf("only %d cases were read", len(cases))
	}
	for _, c := range cases {
		name, value, _ := strings.Cut(c.entry, "=")
		why, drop := Judge(name, value, Policy{})
		if drop != (c.rule != "") || why.Rule != c.rule {
			t.Errorf("line %d: %s: removed %v by %q (%s), want %q", c.line, c.entry, drop, why.Rule, why.Why, c.rule)
		}
		if drop && why.Why == "" {
			t.Errorf("line %d: %s: no reason", c.line, c.entry)
		}
		kept, removed := Strip([]string{c.entry}, Policy{})
		if drop && (len(kept) != 0 || !slices.Equal(removed, []string{name})) ||
			!drop && (!slices.Equal(kept, []string{c.entry}) || removed != nil) {
			t.Errorf("line %d: %s: Strip gives %q, %q", c.line, c.entry, kept, removed)
		}
	}
}

// TestTables holds the order that the binary search needs and that every row
// says why.
func TestTables(t *testing.T) {
	for name, table := range map[string][]row{"startCode": startCode, "doors": doors} {
		for i, r := range table {
			if r.why == "" {
				t.Errorf("%s: %s has no reason", name, r.name)
			}
			if i > 0 && table[i-1].name >= r.name {
				t.Errorf("%s: %s stands before %s", name, table[i-1].name, r.name)
			}
		}
	}
	for i := 1; i < len(prefixes); i++ {
		if prefixes[i-1].text >= prefixes[i].text {
			t.Errorf("prefixes: %s stands before %s", prefixes[i-1].text, prefixes[i].text)
		}
	}
}

// TestTokenPrefixes finds every row of the table, alone and inside text.
func TestTokenPrefixes(t *testing.T) {
	for _, p := range prefixes {
		token := expand(t, p.text+"<60>")
		for _, value := range []string{token, "x " + token + ",", "https://example.test/" + token} {
			if holdsCredential(value) == "" {
				t.Errorf("%s: not found in %q", p.text, value)
			}
		}
		if why := isToken(p.text, true); why != "" {
			t.Errorf("%s alone is taken for a token", p.text)
		}
	}
}

func TestPolicy(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/home/u", "REFERENCED=a", "MY_VAULT_CRED=b", "INNOCENT_VAULT=c",
		"OP_SERVICE_ACCOUNT_TOKEN=d", "SSH_AUTH_SOCK=/s", "LD_PRELOAD=/x.so", "DB=postgres://u:p@h/d", "ORDINARY_VAR=harmless",
	}
	all := Policy{References: []string{"REFERENCED", "PATH", "HOME"}, Vault: []string{"INNOCENT_VAULT"}}
	with := func(change func(*Policy)) Policy {
		p := all
		change(&p)
		return p
	}
	every := []string{"DB", "INNOCENT_VAULT", "LD_PRELOAD", "MY_VAULT_CRED", "OP_SERVICE_ACCOUNT_TOKEN", "REFERENCED", "SSH_AUTH_SOCK"}
	for _, c := range []struct {
		name    string
		policy  Policy
		removed []string
	}{
		{"zero value applies the built-in rules", Policy{}, []string{"DB", "LD_PRELOAD", "MY_VAULT_CRED", "OP_SERVICE_ACCOUNT_TOKEN", "SSH_AUTH_SOCK"}},
		{"references and vault, but never PATH and HOME", all, every},
		{
			"expose excuses all but code at start",
			with(func(p *Policy) { p.Expose = every }),
			[]string{"LD_PRELOAD"},
		},
		{
			"expose is exact",
			with(func(p *Policy) { p.Expose = []string{"op_service_account_token", "DB"} }),
			[]string{"INNOCENT_VAULT", "LD_PRELOAD", "MY_VAULT_CRED", "OP_SERVICE_ACCOUNT_TOKEN", "REFERENCED", "SSH_AUTH_SOCK"},
		},
		{"allow wins over everything", with(func(p *Policy) { p.Allow = every }), nil},
		{"vault wins over what every program needs", Policy{Vault: []string{"HOME"}}, []string{"DB", "HOME", "LD_PRELOAD", "MY_VAULT_CRED", "OP_SERVICE_ACCOUNT_TOKEN", "SSH_AUTH_SOCK"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, removed := Strip(environ, c.policy)
			if !slices.Equal(removed, c.removed) {
				t.Errorf("removed %q, want %q", removed, c.removed)
			}
			var want []string
			for _, e := range environ {
				if name, _, _ := strings.Cut(e, "="); !slices.Contains(c.removed, name) {
					want = append(want, e)
				}
			}
			if !slices.Equal(kept, want) {
				t.Errorf("kept %q, want %q", kept, want)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		name          string
		in, kept, out []string
	}{
		{"nothing", nil, []string{}, nil},
		{"no equals sign, the text may be a secret", []string{"hunter2", "A=1"}, []string{"A=1"}, []string{Nameless}},
		{"no name", []string{"=x", "=C:=C:\\", "A=1"}, []string{"A=1"}, []string{Nameless}},
		{"empty entry", []string{"", "A=1"}, []string{"A=1"}, []string{Nameless}},
		{"zero byte in the value", []string{"A=1\x00B=2", "C=3"}, []string{"C=3"}, []string{"A"}},
		{"zero byte in the name", []string{"A\x00B=2", "C=3"}, []string{"C=3"}, []string{Nameless}},
		{"a second equals sign belongs to the value", []string{"A=b=c"}, []string{"A=b=c"}, nil},
		{"duplicates stay in order", []string{"A=1", "B=2", "A=3"}, []string{"A=1", "B=2", "A=3"}, nil},
		{"a duplicate that is a secret takes the others with it", []string{"A=1", "B=2", "A=ghp_abc123"}, []string{"B=2"}, []string{"A"}},
		{"a removed name is listed once", []string{"TOKEN=1", "TOKEN=2"}, []string{}, []string{"TOKEN"}},
		{"invalid UTF-8 stays byte for byte", []string{"A\xff=\xfe"}, []string{"A\xff=\xfe"}, nil},
		{"invalid UTF-8 does not hide a word", []string{"TOKEN\xff=x", "\xffDB\xfePASS=x1y2"}, []string{}, []string{"TOKEN\xff", "\xffDB\xfePASS"}},
		{"a name of spaces", []string{"  =x"}, []string{"  =x"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept, removed := Strip(c.in, Policy{})
			if !slices.Equal(kept, c.kept) || !slices.Equal(removed, c.out) {
				t.Errorf("got %q, %q; want %q, %q", kept, removed, c.kept, c.out)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	got := Explain([]string{"PATH=/bin", "DB=postgres://u:p@h/d", "DISPLAY=:0", "DB=x", "loose"}, Policy{})
	want := []Removal{
		{Nameless, Reason{RuleMalformed, "is not NAME=value"}},
		{"DB", Reason{RuleValue, whyURL}},
		{"DISPLAY", Reason{RuleDoor, whyDisplay}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRealEnvironment gives both environments to a real env(1).
func TestRealEnvironment(t *testing.T) {
	env, err := exec.LookPath("env")
	if err != nil {
		t.Skip("no env program")
	}
	environ := []string{"PATH=/usr/bin:/bin", "GITHUB_TOKEN=canary-1", "URL=redis://:canary-2@h", "LD_PRELOADX=canary-3", "ORDINARY_VAR=harmless"}
	show := func(e []string) string {
		cmd := exec.Command(env)
		cmd.Env = e
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if open := show(environ); strings.Count(open, "canary") != 3 {
		t.Fatalf("control: unstripped environment shows %q", open)
	}
	kept, _ := Strip(environ, Policy{})
	if got := show(kept); got != "PATH=/usr/bin:/bin\nORDINARY_VAR=harmless\n" {
		t.Errorf("env prints %q", got)
	}
}

func FuzzStrip(f *testing.F) {
	for _, c := range readCases(f) {
		f.Add(c.entry, "A=1")
	}
	f.Add("novalue", "=x")
	f.Add("A=\x00", "\xff\xfe=eyJ..")
	f.Add("U=a://b:c@d://e:f/g@", "X=:@")
	f.Fuzz(func(t *testing.T, a, b string) {
		in := []string{a, b, a}
		kept, removed := Strip(in, Policy{References: []string{"REF"}})
		if !slices.IsSorted(removed) || len(slices.Compact(slices.Clone(removed))) != len(removed) {
			t.Fatalf("removed is not sorted and unique: %q", removed)
		}
		next := 0
		for _, entry := range in {
			name, _, ok := strings.Cut(entry, "=")
			gone := slices.Contains(removed, name) || !ok || name == "" || strings.Contains(name, "\x00")
			if !gone && (next >= len(kept) || kept[next] != entry) {
				t.Fatalf("%q is neither kept nor removed: kept %q, removed %q", entry, kept, removed)
			}
			if !gone {
				next++
			}
		}
		if next != len(kept) {
			t.Fatalf("kept %q from %q with %q removed", kept, in, removed)
		}
		for _, name := range removed {
			if name == Nameless {
				continue
			}
			if !slices.ContainsFunc(in, func(e string) bool { n, _, ok := strings.Cut(e, "="); return ok && n == name }) {
				t.Fatalf("removed %q is not a name of %q", name, in)
			}
		}
		again, more := Strip(kept, Policy{References: []string{"REF"}})
		if !slices.Equal(again, kept) || more != nil {
			t.Fatalf("a second pass changes %q to %q", kept, again)
		}
	})
}

func BenchmarkStrip(b *testing.B) {
	environ := desktop()
	p := Policy{References: []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TELEGRAM", "DB"}, Vault: []string{"OP_SERVICE_ACCOUNT_TOKEN"}, Expose: []string{"X_TOKEN"}}
	b.ReportAllocs()
	for b.Loop() {
		Strip(environ, p)
	}
}

// desktop is an environment of 60 variables as a desktop session has them.
func desktop() []string {
	e := []string{
		"LS_COLORS=" + strings.Repeat("*.tar=01;31:*.tgz=01;31:*.zip=01;31:", 40),
		"PATH=/home/u/.local/bin:/home/u/.cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"XDG_DATA_DIRS=/usr/share/gnome:/usr/local/share:/usr/share:/var/lib/snapd/desktop",
		"GOOGLE_API_KEY=AIzaabcdefghijklmnopqrstuvwxyz0123456789", "GITHUB_TOKEN=ghp_abc", "DATABASE_URL=postgres://u:p@h/d",
		"SSH_AUTH_SOCK=/run/user/1000/keyring/ssh", "DISPLAY=:0", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus",
		"HTTP_PROXY=http://proxy.example.test:3128", "LD_LIBRARY_PATH=/opt/lib", "EDITOR=vim",
		"HOME=/home/u", "USER=u", "LOGNAME=u", "SHELL=/bin/bash", "LANG=en_US.UTF-8", "TERM=xterm-256color", "PWD=/home/u/work/project",
		"GNOME_SHELL_SESSION_MODE=ubuntu", "XDG_CURRENT_DESKTOP=ubuntu:GNOME", "QT_ACCESSIBILITY=1", "GOPATH=/home/u/go",
	}
	for i := len(e); i < 60; i++ {
		e = append(e, "SOME_SETTING_NUMBER_"+strconv.Itoa(i)+"=/home/u/some/ordinary/path-"+strconv.Itoa(i)+".d")
	}
	return e
}
