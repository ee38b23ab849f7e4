package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/shell"
)

// Each row: a text, and the origins of every word of its last call.
func TestOrigins(t *testing.T) {
	for text, want := range map[string]string{
		`D=/srv/x; rm -rf "$D"`:           "D=1:1",
		"A=x\nD=/srv\nrm $D/$A$D":         "D=2:1 A=1:1 D=2:1",
		`D=a; D=b; rm $D`:                 "D=1:6",
		`D=a; D+=b; rm $D`:                "D=1:6",
		`export D=/srv; rm ${D%/}`:        "D=1:8",
		`D=/srv; bash -c 'rm $1' x "$D"`:  "1=1:27",
		`D=/srv bash -c 'rm $D'`:          "D=1:1",
		`env D=/srv sh -c 'rm $D'`:        "D=1:5",
		`bash -c 'D=/srv; rm $D'`:         "D=1:10",
		`f() { rm "$1"; }; f /srv`:        "1=1:21",
		`for d in a b; do :; done; rm $d`: "d=1:12",
		`a=(x y); rm "${a[1]}"`:           "a=1:6",
		`rm "$HOME" "$X" $1 lit`:          "",
		`cd /srv; rm "$PWD"`:              "",
		"read D; rm $D":                   "",
		`D="a b"; rm $D`:                  "D=1:1 D=1:1",
		`X=rm; sudo $X -rf "${Y:-/srv}"`:  "X=1:1",
		`D=/srv; { E=$D/x; rm "$E"; }`:    "E=1:11",
	} {
		s := shell.Parse(text, shell.Bash)
		c := s.Calls[len(s.Calls)-1]
		var got []string
		for _, w := range c.Words {
			for _, o := range w.From {
				at := s.Pos(o.Span.Start)
				got = append(got, fmt.Sprintf("%s=%d:%d", o.Name, at.Line, at.Column))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\n%q, want %q", text, got, want)
		}
	}
}

// The arguments of a script stand in another text.
func TestOriginsInFiles(t *testing.T) {
	at := shell.Where{Cwd: "/ws"}
	caller := shell.ParseAt("D=/srv; sh x.sh $D", shell.Bash, at)
	file, ok := caller.Runs(len(caller.Calls) - 1)
	if !ok || len(file.Args) != 1 || len(file.Args[0].From) != 1 {
		t.Fatalf("%+v", file)
	}
	s := shell.ParseFile(`rm "$1"`, shell.Bash, at, "x.sh", file.Args)
	if w := s.Calls[0].Words[1]; w.Value != "/srv" || len(w.From) != 0 {
		t.Errorf("%+v", w)
	}
}
