package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func add(grant string) func([]string) []string {
	return func(have []string) []string { return append(have, grant) }
}

// Only the list changes; everything else stays as it was, byte for byte.
func TestWithGrants(t *testing.T) {
	for _, c := range []struct{ name, agent, before, after string }{
		{"no file", "", "", "{\n  \"sbx\": {\n    \"auto_approve\": [\"bash:none\"]\n  }\n}\n"},
		{"an empty object", "", "{}", "{\n  \"sbx\": {\n    \"auto_approve\": [\"bash:none\"]\n  }\n}"},
		{"other keys", "", "{\n    \"x\": 1.50\n}\n", "{\n    \"x\": 1.50,\n    \"sbx\": {\n        \"auto_approve\": [\"bash:none\"]\n    }\n}\n"},
		{
			"one of several keys", "", "{\n\t\"sbx\": {\n\t\t\"network\": \"off\"\n\t},\n\t\"x\": \"<&\\u00e9\"\n}\n",
			"{\n\t\"sbx\": {\n\t\t\"network\": \"off\",\n\t\t\"auto_approve\": [\"bash:none\"]\n\t},\n\t\"x\": \"<&\\u00e9\"\n}\n",
		},
		{"on one line", "", `{"sbx": {"network": "off"}, "x": 1}`, `{"sbx": {"network": "off", "auto_approve": ["bash:none"]}, "x": 1}`},
		{"a list that is there", "", `{"sbx":{"auto_approve":["a","b:x+y"]},"big":12345678901234567890}`, `{"sbx":{"auto_approve":["a", "b:x+y", "bash:none"]},"big":12345678901234567890}`},
		{"null", "", `{"sbx":{"auto_approve":null}}`, `{"sbx":{"auto_approve":["bash:none"]}}`},
		{"an agent", "main", "{\n  \"agents\": {\n    \"main\": {\n      \"tools\": [\"bash\"]\n    },\n    \"b\": {}\n  }\n}\n", "{\n  \"agents\": {\n    \"main\": {\n      \"tools\": [\"bash\"],\n      \"auto_approve\": [\"bash:none\"]\n    },\n    \"b\": {}\n  }\n}\n"},
		{"an agent with nothing", "b", "{\n  \"agents\": {\n    \"b\": {}\n  }\n}\n", "{\n  \"agents\": {\n    \"b\": {\n      \"auto_approve\": [\"bash:none\"]\n    }\n  }\n}\n"},
		{"a key that comes twice elsewhere", "a", `{"agents":{"b":{"auto_approve":["x"]},"a":{}}}`, "{\"agents\":{\"b\":{\"auto_approve\":[\"x\"]},\"a\":{\n  \"auto_approve\": [\"bash:none\"]\n}}}"},
		{"a byte order mark", "", "\xef\xbb\xbf{}", "\xef\xbb\xbf{\n  \"sbx\": {\n    \"auto_approve\": [\"bash:none\"]\n  }\n}"},
	} {
		got, grants, err := withGrants("/c.json", []byte(c.before), c.agent, add("bash:none"))
		if err != nil || string(got) != c.after || grants[len(grants)-1] != "bash:none" {
			t.Errorf("%s: %v, %q, grants %q", c.name, err, got, grants)
		}
	}
	long, _, err := withGrants("/c.json", []byte("{\n  \"sbx\": {\n    \"auto_approve\": []\n  }\n}\n"), "", func([]string) []string {
		return []string{strings.Repeat("a", 60) + ":none", "bash:deletes+network"}
	})
	if err != nil || !strings.Contains(string(long), "[\n      \"aaa") || !strings.Contains(string(long), ",\n      \"bash:deletes+network\"\n    ]\n") {
		t.Errorf("%v, %s", err, long)
	}
}

func TestWithGrantsRefuses(t *testing.T) {
	for _, c := range []struct{ agent, text, says string }{
		{"ghost", `{"agents":{"main":{}}}`, `no agent "ghost"`},
		{"main", `{}`, `no agent "main"`},
		{"main", `{"agents":{"main":{"auto_approve":"bash"}}}`, "no list of texts"},
		{"main", `{"agents":{"main":{"auto_approve":[1]}}}`, "no list of texts"},
		{"", `{"sbx":{"auto_approve":[1]}}`, "want a word"},
		{"", `{"sbx":`, "unexpected end"},
		{"", `{"sbx":{"netwrok":1,"auto_approve":["a"],"auto_approve":["b"]}}`, "stands twice"},
		{"a", `{"agents":{"a":{"auto_approve":["a"],"auto_approve":["b"]}}}`, "stands twice"},
		{"a", `{"agents":{"a":{},"a":{}}}`, "stands twice"},
		{"", "{\"x\":\"\xff\"}", "not UTF-8"},
	} {
		if got, _, err := withGrants("/c.json", []byte(c.text), c.agent, add("x")); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %s", c.text, err, got)
		}
	}
}

func TestEditGrants(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "home", "config.json")
	if _, err := EditGrants(path, "", func([]string) []string { return []string{} }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("nothing to write made a file")
	}
	if got, err := EditGrants(path, "", add("bash:none")); err != nil || !slices.Equal(got, []string{"bash:none"}) {
		t.Fatal(got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	// A link stays a link, the mode becomes the owner's, and no change is no write.
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := EditGrants(link, "", add("x:any")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone", err)
	}
	after, err := os.Stat(path)
	if err != nil || after.Mode().Perm() != 0o600 {
		t.Error(after.Mode(), err)
	}
	if _, err := EditGrants(path, "", func(have []string) []string { return have }); err != nil {
		t.Error(err)
	}
	if again, err := os.Stat(path); err != nil || !os.SameFile(after, again) {
		t.Error("written without a change", err)
	}
	c, err := Read(path)
	if err != nil || !slices.Equal(c.Grants, []string{"bash:none", "x:any"}) {
		t.Error(c.Grants, err)
	}
	var none *AgentError
	if _, err := EditGrants(path, "ghost", add("x")); !errors.As(err, &none) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "home", ".config-*")); len(left) > 0 {
		t.Error("left behind: ", left)
	}
}

// Whoever writes without the lock, by hand, loses nothing.
func TestEditGrantsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	write(t, path, `{"sbx": {"auto_approve": ["a"]}}`)
	calls := 0
	got, err := EditGrants(path, "", func(have []string) []string {
		if calls++; calls == 1 {
			write(t, path, `{"sbx": {"auto_approve": ["a", "by-hand"]}, "more": true}`)
		}
		return append(have, "b")
	})
	text, _ := os.ReadFile(path)
	if err != nil || calls != 2 || !slices.Equal(got, []string{"a", "by-hand", "b"}) || !bytes.Contains(text, []byte(`"more": true`)) {
		t.Errorf("%v after %d, %q: %s", err, calls, got, text)
	}
	_, err = EditGrants(path, "", func(have []string) []string {
		calls++
		write(t, path, fmt.Sprintf(`{"n": %d}`, calls))
		return append(have, "b")
	})
	if err == nil || !strings.Contains(err.Error(), "nothing was written") {
		t.Error(err)
	}
}

func TestEditGrantsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	const writers = 32
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			if _, err := EditGrants(path, "", add(fmt.Sprintf("t%d:none", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c, err := Read(path); err != nil || len(c.Grants) != writers {
		t.Errorf("%d of %d are there, %v", len(c.Grants), writers, err)
	}
}

func TestManyGrants(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	want := make([]string, 10_000)
	for i := range want {
		want[i] = fmt.Sprintf("tool_%d:deletes+network", i)
	}
	if _, err := EditGrants(path, "", func([]string) []string { return want }); err != nil {
		t.Fatal(err)
	}
	if got, err := EditGrants(path, "", add("last")); err != nil || len(got) != len(want)+1 {
		t.Error(len(got), err)
	}
	if c, err := Read(path); err != nil || !slices.Equal(c.Grants[:len(want)], want) {
		t.Error(len(c.Grants), err)
	}
}

func TestPolicies(t *testing.T) {
	c, err := Parse("/c.json", []byte(`{"policy_scope": {"p": {"agents": ["a"], "projects": ["x"]}},
		"sbx": {"ask": true, "policies": [{"name": "p", "tool": "bash", "tags": ["network"], "argv": ["git", "push"], "path": "~/keys", "host": "*.x.test",
		"verdict": "deny", "justification": "no", "match": ["git push"], "not_match": ["ls"]}]},
		"agents": {"a": {"auto_approve": ["bash:none"], "trust_untrusted_content": true, "tools": 7}, "b": 1, "c": {"auto_approve": "x", "trust_untrusted_content": "yes"}}}`))
	if err == nil {
		err = c.expandHome("/home/ann")
	}
	if err != nil {
		t.Fatal(err)
	}
	p := c.Policies[0]
	if !c.Ask || p.Path != "/home/ann/keys" || !slices.Equal(p.Agents, []string{"a"}) || !slices.Equal(p.Projects, []string{"x"}) || len(p.Argv) != 2 || p.Because != "no" || len(p.NotMatch) != 1 {
		t.Errorf("%+v", c)
	}
	if a := c.Agents["a"]; !a.TrustUntrusted || !slices.Equal(a.AutoApprove, []string{"bash:none"}) {
		t.Errorf("%+v", c.Agents)
	}
	if a := c.Agents["c"]; a.TrustUntrusted || a.AutoApprove != nil { // what is not understood grants nothing
		t.Errorf("%+v", a)
	}
	for text, says := range map[string]string{
		`{"sbx":{"policies":{}}}`:             "want a list",
		`{"sbx":{"policies":[1]}}`:            "want an object",
		`{"sbx":{"policies":[{"agrv":[]}]}}`:  "there is no such key",
		`{"sbx":{"policies":[{"tool":1}]}}`:   "want a word",
		`{"policy_scope":{"p":{"agents":1}}}`: "want a list",
		`{"policy_scope":[]}`:                 "want an object",
		`{"sbx":{"ask":"yes"}}`:               "want true or false",
	} {
		if _, err := Parse("/c.json", []byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Whatever file it is, an edit changes the one list and loses no value.
func FuzzWithGrants(f *testing.F) {
	for _, text := range []string{`{}`, `{"sbx":{}}`, "{\n \"a\" : [1, {\"b\":null}] , \"sbx\":{\"auto_approve\" : [ ] }\n}", `{"sbx":null}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before, err := Parse("/c", text)
		if err != nil {
			return
		}
		after, grants, err := withGrants("/c", text, "", add("bash:none"))
		if err != nil {
			return
		}
		c, err := Parse("/c", after)
		if err != nil || !slices.Equal(c.Grants, grants) || len(grants) != len(before.Grants)+1 {
			t.Fatalf("%q becomes %q: %v, %q", text, after, err, c.Grants)
		}
		var a, b map[string]any
		if json.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &a) == nil && json.Unmarshal(bytes.TrimPrefix(after, []byte("\xef\xbb\xbf")), &b) == nil {
			for key := range a {
				if _, ok := b[key]; !ok {
					t.Fatalf("%q loses %q: %q", text, key, after)
				}
			}
		}
	})
}
