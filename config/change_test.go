package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func set(value string, key ...string) Change { return Change{Key: key, Value: value} }
func unset(key ...string) Change             { return Change{Key: key, Remove: true} }

func TestChanged(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		changes    []Change
		want       string
	}{
		{"no file", "", []Change{set("/w", "sandbox")}, "{\n  \"sandbox\": \"/w\"\n}\n"},
		{"nothing to remove", "", []Change{unset("sandbox")}, ""},
		{"added last", "{\n\t\"z\": 1,\n\t\"a\": [1,  2]\n}\n", []Change{set("/w", "sandbox")}, "{\n\t\"z\": 1,\n\t\"a\": [1,  2],\n\t\"sandbox\": \"/w\"\n}\n"},
		{"in its place", "{\"sandbox\":\"/old\", \"b\":{ }}", []Change{set("/new", "sandbox")}, "{\"sandbox\":\"/new\", \"b\":{ }}"},
		{"in the place of something else", "{\"sandbox\": {\"x\": 1}}", []Change{set("/new", "sandbox")}, "{\"sandbox\": \"/new\"}"},
		{
			"deep", "{\n  \"a\": 1\n}",
			[]Change{set("off", "sbx", "network"), set("i:1", "sbx", "container", "image")},
			"{\n  \"a\": 1,\n  \"sbx\": {\n    \"network\": \"off\",\n    \"container\": {\n      \"image\": \"i:1\"\n    }\n  }\n}",
		},
		{"first removed", "{\n  \"sandbox\": \"/w\",\n  \"b\": 2\n}", []Change{unset("sandbox")}, "{\n  \"b\": 2\n}"},
		{"last removed", "{\n  \"b\": 2,\n  \"sandbox\": \"/w\"\n}\n", []Change{unset("sandbox")}, "{\n  \"b\": 2\n}\n"},
		{"the only one removed", "{ \"sandbox\": \"/w\" }", []Change{unset("sandbox")}, "{}"},
		{"emptied objects go", "{\"a\": 1, \"sbx\": {\"container\": {\"image\": \"i\"}}}", []Change{unset("sbx", "container", "image")}, "{\"a\": 1}"},
		{"its neighbours stay", "{\"sbx\": {\"network\": \"on\", \"backend\": \"direct\"}}", []Change{unset("sbx", "network")}, "{\"sbx\": {\"backend\": \"direct\"}}"},
		{"not there", "{\"a\": 1}", []Change{unset("sbx", "network"), unset("b")}, "{\"a\": 1}"},
		{"quotes, and a mark", "\xef\xbb\xbf{\"a\": \"<é>\"}", []Change{set("/a \"b\"\n<é>", "sandbox")}, "\xef\xbb\xbf{\"a\": \"<é>\", \"sandbox\": \"/a \\\"b\\\"\\n<é>\"}"},
	} {
		got, err := Changed("/c.json", []byte(tt.text), tt.changes)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n got %q\nwant %q", tt.name, err, got, tt.want)
		}
		again, err := Changed("/c.json", got, tt.changes)
		if err != nil || string(again) != tt.want {
			t.Errorf("%s, a second time: %q, %v", tt.name, again, err)
		}
	}
	for _, tt := range []struct {
		text, want string
		change     Change
	}{
		{`{"sbx": `, "unexpected end", set("x", "sandbox")},
		{`[]`, "want an object", set("x", "sandbox")},
		{`{"sbx": {"container": 7}}`, "want an object", set("x", "sbx", "container", "image")},
		{`{}`, "sbx.network: want", set("nonsense", "sbx", "network")}, // what could not be read back
	} {
		if got, err := Changed("/c.json", []byte(tt.text), []Change{tt.change}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, %v", tt.text, got, err)
		}
	}
}

func TestApply(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pepe", "config.json")
	if err := Apply(path, []Change{set("/w", "sandbox"), set("off", "sbx", "network")}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, ok := ReadText(path, []string{"sbx", "network"}); got != "off" || !ok {
		t.Errorf("%q, %v", got, ok)
	}
	for _, key := range [][]string{{"nothing"}, {"sbx"}, {"sandbox", "deeper"}} {
		if got, ok := ReadText(path, key); ok {
			t.Errorf("%q: %q", key, got)
		}
	}
	if err := Apply(path, []Change{unset("sandbox"), unset("sbx", "network")}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "{}\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestRemoveEmpty(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "config.json"), filepath.Join(dir, "link.json")
	if err := RemoveEmpty(path); err != nil {
		t.Errorf("no file: %v", err)
	}
	for text, want := range map[string]bool{"{}": false, " {\n}\n": false, "": true, "{\"a\": 1}": true, "{}{}": true} {
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), RemoveEmpty(path)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Symlink(path, link), RemoveEmpty(link)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(link); err != nil {
		t.Errorf("a link or what it leads to went: %v", err)
	}
}
