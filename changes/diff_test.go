package changes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func unified(d Diff) string {
	var b strings.Builder
	for _, h := range d.Hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(h.OldStart, h.OldLines), span(h.NewStart, h.NewLines))
		for _, l := range h.Lines {
			fmt.Fprintf(&b, "%c%s\n", l.Sign, l.Text)
			if l.NoBreak {
				b.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	return b.String()
}

func span(start, lines int) string {
	if lines == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, lines)
}

// A diff is right when patch(1) makes the new text of the old one, and it is as
// short as that of diff(1).
func TestDiffIsWhatPatchNeeds(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range r.IntN(30) {
			fmt.Fprintf(&b, "line %d\n", r.IntN(6))
		}
		if r.IntN(4) == 0 {
			b.WriteString("no break")
		}
		return b.String()
	}
	for i := range 150 {
		old, now := text(), text()
		if i == 0 {
			old = ""
		}
		d := unified(compareText([]byte(old), []byte(now)))
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
			t.Fatal(err)
		}
		if old == now {
			if d != "" {
				t.Fatalf("equal texts differ: %q", d)
			}
			continue
		}
		cmd := exec.Command(patch, "-s", "-f", file)
		cmd.Stdin = strings.NewReader("--- f\n+++ f\n" + d)
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(file) // patch removes what became empty
		if err != nil || string(got) != now {
			t.Fatalf("%v %s\nold %q\nnew %q\ngot %q\n%s", err, out, old, now, got, d)
		}
	}
}

func TestDiffShowsLittle(t *testing.T) {
	var old strings.Builder
	for i := range 100 {
		fmt.Fprintf(&old, "%d\n", i)
	}
	now := strings.Replace(old.String(), "\n50\n", "\nfifty\n", 1)
	want := "@@ -48,7 +48,7 @@\n 47\n 48\n 49\n-50\n+fifty\n 51\n 52\n 53\n"
	if got := unified(compareText([]byte(old.String()), []byte(now))); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestDiffOfWhatIsNoText(t *testing.T) {
	for name, c := range map[string]struct {
		old, now string
		want     Diff
	}{
		"a NUL":     {"a", "b\x00", Diff{Binary: true}},
		"not UTF-8": {"\xff", "b", Diff{Binary: true}},
		"large":     {"", strings.Repeat("a\n", maxDiff), Diff{Large: true}},
	} {
		got := compareText([]byte(c.old), []byte(c.now))
		if got.Binary != c.want.Binary || got.Large != c.want.Large || got.Hunks != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Two texts without a common line would take long, and memory.
func TestDiffOfManyLinesEnds(t *testing.T) {
	var a, b strings.Builder
	for i := range 60000 {
		fmt.Fprintf(&a, "a%d\n", i)
		fmt.Fprintf(&b, "b%d\n", i)
	}
	d := compareText([]byte(a.String()), []byte(b.String()))
	if len(d.Hunks) != 1 || d.Hunks[0].OldLines != 60000 || d.Hunks[0].NewLines != 60000 {
		t.Errorf("%d hunks", len(d.Hunks))
	}
}
