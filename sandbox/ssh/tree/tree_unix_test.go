//go:build unix

package tree

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func file(path, text string) Entry {
	return Entry{Path: path, Kind: File, Mode: 0o644, Size: int64(len(text)), Sum: sha256.Sum256([]byte(text)), MTime: 1}
}

func dir(path string) Entry      { return Entry{Path: path, Kind: Directory, Mode: 0o755} }
func link(path, to string) Entry { return Entry{Path: path, Kind: Link, To: to} }

// say is what a comparison comes to, in a line.
func say(c Changes) string {
	var words []string
	for _, x := range c.There {
		words = append(words, fmt.Sprintf("there:%s=%d", x.To.Path, x.To.Kind))
	}
	for _, x := range c.Here {
		words = append(words, fmt.Sprintf("here:%s=%d", x.To.Path, x.To.Kind))
	}
	for _, x := range c.Conflicts {
		words = append(words, "conflict:"+x.Path)
	}
	return strings.Join(words, " ")
}

func TestBefore(t *testing.T) {
	a, b, c := file("f", "a"), file("f", "b"), file("f", "c")
	for name, tt := range map[string]struct {
		base, sent, fetched, here, there List
		want                             string
	}{
		"the same":                        {base: List{a}, here: List{a}, there: List{a}},
		"new here":                        {here: List{a}, want: "there:f=1"},
		"new there":                       {there: List{a}, want: "here:f=1"},
		"changed here":                    {base: List{a}, here: List{b}, there: List{a}, want: "there:f=1"},
		"changed there":                   {base: List{a}, here: List{a}, there: List{b}, want: "here:f=1"},
		"changed on both":                 {base: List{a}, here: List{b}, there: List{c}, want: "conflict:f"},
		"changed to the same":             {base: List{a}, here: List{b}, there: List{b}},
		"removed here":                    {base: List{a}, there: List{a}, want: "there:f=0"},
		"removed here, changed there":     {base: List{a}, there: List{b}, want: "conflict:f"},
		"lost there":                      {base: List{a}, here: List{a}, want: "there:f=1"},
		"lost there, changed here":        {base: List{a}, here: List{b}, want: "there:f=1"},
		"sent, and changed again":         {base: List{a}, sent: List{b}, here: List{c}, there: List{b}, want: "there:f=1"},
		"sent, and changed back":          {base: List{a}, sent: List{b}, here: List{a}, there: List{b}, want: "there:f=1"},
		"was to be sent":                  {base: List{a}, sent: List{b}, here: List{b}, there: List{a}, want: "there:f=1"},
		"fetched, and changed there":      {base: List{a}, fetched: List{b}, here: List{b}, there: List{c}, want: "here:f=1"},
		"was to be fetched":               {base: List{a}, fetched: List{b}, here: List{a}, there: List{b}, want: "here:f=1"},
		"nothing known, both there":       {here: List{a}, there: List{b}, want: "conflict:f"},
		"a file here, a directory there":  {base: List{a}, here: List{a}, there: List{dir("f"), file("f/x", "x")}, want: "here:f=2 here:f/x=1"},
		"a directory here, a file before": {base: List{a}, here: List{dir("f"), file("f/x", "x")}, there: List{a}, want: "there:f=2 there:f/x=1"},
		"only the mode":                   {base: List{a}, here: List{a}, there: List{{Path: "f", Kind: File, Mode: 0o755, Size: a.Size, Sum: a.Sum}}, want: "here:f=1"},
	} {
		if got := say(Before(tt.base, tt.sent, tt.fetched, tt.here, tt.there)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestAfter(t *testing.T) {
	a, b, c := file("f", "a"), file("f", "b"), file("f", "c")
	for name, tt := range map[string]struct {
		base, here, there List
		want              string
	}{
		"nothing":                  {List{a}, List{a}, List{a}, ""},
		"changed":                  {List{a}, List{a}, List{b}, "here:f=1"},
		"made":                     {nil, nil, List{a}, "here:f=1"},
		"removed":                  {List{a}, List{a}, nil, "here:f=0"},
		"removed, changed here":    {List{a}, List{b}, nil, "conflict:f"},
		"changed here alone":       {List{a}, List{b}, List{a}, ""},
		"changed on both":          {List{a}, List{b}, List{c}, "conflict:f"},
		"removed here, changed":    {List{a}, nil, List{b}, "conflict:f"},
		"a tree is removed":        {List{dir("d"), file("d/f", "a")}, List{dir("d"), file("d/f", "a")}, nil, "here:d/f=0 here:d=0"},
		"a link in place of a dir": {List{dir("d"), file("d/f", "a")}, List{dir("d"), file("d/f", "a")}, List{link("d", "/etc")}, "here:d/f=0 here:d=3"},
	} {
		if got := say(After(tt.base, tt.here, tt.there)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestFormOfLists(t *testing.T) {
	list := List{dir("a"), file("a/\xff\n", "text"), link("z", "../../etc/passwd")}
	back, err := Parse(list.Bytes())
	if err != nil || !slices.Equal(back, list) {
		t.Errorf("%+v, %v", back, err)
	}
	for _, name := range []string{"", "/etc/passwd", "..", "../x", "a/../../x", "a//b", "./a", "a/", "a/.", "a\x00b", strings.Repeat("x", 5000)} {
		if _, err := Parse(List{file(name, "x")}.Bytes()); err == nil {
			t.Errorf("%.20q is taken", name)
		}
		if _, err := parseChange((Change{Entry{Path: name}, file(name, "x")}).bytes()); err == nil {
			t.Errorf("%.20q is taken in a change", name)
		}
		if _, err := parseChanges((Change{Entry{Path: name}, file(name, "x")}).bytes()); err == nil {
			t.Errorf("%.20q is taken among changes", name)
		}
	}
	for _, bad := range []List{{file("a", "x"), file("a", "y")}} {
		if _, err := Parse(bad.Bytes()); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	for _, bad := range []List{{link("d", "/etc"), file("d/x", "x")}, {file("d/x", "x")}, {file("d", ""), file("d/x", "x")}} {
		if bad.whole() == nil {
			t.Errorf("%+v is whole", bad)
		}
	}
	if got, err := Parse(append(list.Bytes(), 9, 9, 9)); err == nil {
		t.Errorf("damaged: %+v", got)
	}
	if e, err := Parse(List{{Path: "s", Kind: File, Mode: os.ModeSetuid | 0o755}}.Bytes()); err != nil || e[0].Mode != 0o755 {
		t.Errorf("set-id: %+v, %v", e, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(List{dir("a"), file("a/b", "text"), link("z", "..")}.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Parse(text)
		if err != nil {
			return
		}
		for _, e := range list {
			if !filepath.IsLocal(e.Path) || e.Mode&^0o777 != 0 {
				t.Fatalf("%+v", e)
			}
		}
	})
}

// played is the other side of an exchange, as a list of answers.
type played struct {
	answers [][]byte
	sent    []byte // first bytes of what came
}

func (p *played) Send(m []byte) error {
	p.sent = append(p.sent, m[0])
	return nil
}

func (p *played) Receive() ([]byte, error) {
	if len(p.answers) == 0 {
		return nil, io.EOF
	}
	m := p.answers[0]
	p.answers = p.answers[1:]
	return m, nil
}

func op(b byte, data []byte) []byte { return append([]byte{b}, data...) }

// world is a workspace, and beside it what must not change.
func world(t *testing.T) (workspace, outside string) {
	t.Helper()
	base := t.TempDir()
	workspace, outside = base+"/ws", base+"/outside"
	for _, d := range []string{workspace, workspace + "/d", outside, base + "/state"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{outside + "/canary", workspace + "/d/own"} {
		if err := os.WriteFile(f, []byte("as it was"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return workspace, outside
}

// A far side that lies cannot touch what is outside of the workspace.
func TestHostileFarSide(t *testing.T) {
	same := op(opSame, nil)
	end := op(opEnd, []byte{0})
	deliver := func(c Change, text string) [][]byte {
		return [][]byte{op(opFile, c.bytes()), op(opData, []byte(text)), op(opDone, nil)}
	}
	evil := file("x", "evil")
	for name, tt := range map[string]struct {
		changes []Change
		then    [][]byte
	}{
		"a name with ..":                      {[]Change{{Entry{Path: "../outside/canary"}, file("../outside/canary", "evil")}}, nil},
		"an absolute name":                    {[]Change{{Entry{Path: "/tmp/x"}, file("/tmp/x", "evil")}}, nil},
		"a file below a link":                 {[]Change{{Entry{Path: "l"}, link("l", "../outside")}, {Entry{Path: "l/canary"}, file("l/canary", "evil")}}, nil},
		"a link in place of a full directory": {[]Change{{dir("d"), link("d", "../outside")}}, nil},
		"more bytes than were told":           {[]Change{{Entry{Path: "x"}, evil}}, deliver(Change{Entry{Path: "x"}, evil}, "evil and more")},
		"other bytes than were told":          {[]Change{{Entry{Path: "x"}, evil}}, deliver(Change{Entry{Path: "x"}, evil}, "liveX")},
		"bytes for another name":              {[]Change{{Entry{Path: "x"}, evil}}, deliver(Change{Entry{Path: "../outside/canary"}, file("../outside/canary", "evil")}, "evil!")},
		"an answer to nothing":                {[]Change{{Entry{Path: "x"}, evil}}, [][]byte{op(opRun, nil)}},
		"a removal of what is outside":        {[]Change{{file("../outside/canary", "as it was"), Entry{Path: "../outside/canary"}}}, nil},
	} {
		workspace, outside := world(t)
		var text []byte
		for _, c := range tt.changes {
			text = append(text, c.bytes()...)
		}
		p := &played{answers: append([][]byte{same, op(opPart, text), end}, tt.then...)}
		// The base is what is here, so that nothing is carried before.
		n, err := OpenNear(p, workspace, filepath.Dir(workspace)+"/state/s", "there", nil)
		if err != nil {
			t.Fatal(err)
		}
		n.load()
		if n.base, err = Scan(n.root, n.index); err != nil {
			t.Fatal(err)
		}
		if err := n.save(); err != nil {
			t.Fatal(err)
		}
		if err := n.Before(); err != nil {
			t.Fatalf("%s: before: %v", name, err)
		}
		if err := n.After(); err == nil {
			t.Errorf("%s: it is taken", name)
		}
		n.Close()
		if got, _ := os.ReadFile(outside + "/canary"); string(got) != "as it was" {
			t.Errorf("%s: outside %q", name, got)
		}
		if entries, _ := os.ReadDir(outside); len(entries) != 1 {
			t.Errorf("%s: outside: %v", name, entries)
		}
		for _, made := range []string{"x", "l/canary"} {
			if _, err := os.Stat(workspace + "/" + made); err == nil {
				t.Errorf("%s: %s was made", name, made)
			}
		}
		if left, _ := filepath.Glob(workspace + "/" + part + "*"); len(left) > 0 {
			t.Errorf("%s: left behind: %q", name, left)
		}
	}
}

// The same the other way round: the near side cannot leave the workspace there.
func TestHostileNearSide(t *testing.T) {
	for name, messages := range map[string][][]byte{
		"a name with ..":   {op(opChange, (Change{Entry{Path: "../outside/x"}, dir("../outside/x")}).bytes())},
		"two names":        {op(opChange, (Change{Entry{Path: "a"}, dir("b")}).bytes())},
		"a file past ..":   {op(opFetch, (Change{Entry{Path: "../outside/canary"}, file("../outside/canary", "")}).bytes())},
		"through a link":   {op(opChange, (Change{Entry{Path: "l"}, link("l", "../outside")}).bytes()), op(opChange, (Change{Entry{Path: "l/x"}, dir("l/x")}).bytes()), op(opCommit, nil)},
		"reading a link":   {op(opChange, (Change{Entry{Path: "l"}, link("l", "../outside/canary")}).bytes()), op(opFetch, (Change{Entry{Path: "l"}, file("l", "as it was")}).bytes())},
		"an order unknown": {op('?', nil)},
	} {
		workspace, outside := world(t)
		p := &played{answers: append([][]byte{op(opList, nil)}, messages...)}
		f, err := OpenFar(p, workspace, filepath.Dir(workspace)+"/state/far.index")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Before(); err == nil {
			t.Errorf("%s: it is taken", name)
		}
		f.Close()
		if entries, _ := os.ReadDir(outside); len(entries) != 1 {
			t.Errorf("%s: outside: %v", name, entries)
		}
		if slices.Contains(p.sent, opData) {
			t.Errorf("%s: bytes of what is outside were sent", name)
		}
	}
}

// What is changed here while it is carried is not overwritten.
func TestChangedMeanwhile(t *testing.T) {
	workspace, _ := world(t)
	root, err := os.OpenRoot(workspace)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	list, err := Scan(root, &Index{})
	if err != nil {
		t.Fatal(err)
	}
	was := list.find("d/own")
	if err := os.WriteFile(workspace+"/d/own", []byte("changed by somebody"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := &writer{root: root}
	if err := w.make(Change{was, Entry{Path: "d/own"}}); err == nil {
		t.Error("removed")
	}
	to := file("d/own", "from there")
	in, err := w.begin(Change{was, to})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = in.Write([]byte("from there"))
	if err := in.finish(); err == nil {
		t.Error("overwritten")
	}
	if text, err := os.ReadFile(workspace + "/d/own"); string(text) != "changed by somebody" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
