package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadTakesLinesAsTheyAre(t *testing.T) {
	got, err := Read(write(t, "a.txt", "ls -la\n\n  \necho a\\ \nlast"))
	want := []string{"ls -la", `echo a\ `, "last"}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

func TestReadTakesJSONStringsAndRows(t *testing.T) {
	got, err := Read(write(t, "a.jsonl", `"a\nb"`+"\n"+`{"id":"x","cmd":"rm \"c\""}`+"\n"))
	want := []string{"a\nb", `rm "c"`}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

func TestReadNamesTheBadLine(t *testing.T) {
	for _, bad := range []string{`{"id":"x"}`, `{"cmd":1}`, `ls -la`} {
		_, err := Read(write(t, "a.jsonl", `"fine"`+"\n"+bad+"\n"))
		if err == nil || !strings.Contains(err.Error(), "a.jsonl:2") {
			t.Errorf("%s: got error %v, want one that names line 2", bad, err)
		}
	}
}

func TestFilesRefusesAnEmptyFolder(t *testing.T) {
	if files, err := Files(t.TempDir()); err == nil {
		t.Fatalf("got %q, want an error", files)
	}
}
