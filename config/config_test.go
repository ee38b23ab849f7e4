package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// env makes a getenv of name, value pairs.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestLocate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of this test begin with a slash")
	}
	for _, c := range []struct {
		name, want, err string
		getenv          func(string) string
	}{
		{"PEPE_CONFIG first", "/c/x.json", "", env("PEPE_CONFIG", "/c/x.json", "PEPE_HOME", "/p", "HOME", "/h")},
		{"then PEPE_HOME", "/p/config.json", "", env("PEPE_HOME", "/p", "HOME", "/h")},
		{"then HOME", "/h/.pepe/config.json", "", env("HOME", "/h")},
		{"empty is not set", "/h/.pepe/config.json", "", env("PEPE_CONFIG", "", "PEPE_HOME", "", "HOME", "/h")},
		{"nothing is set", "", "", env()},
		{"relative file", "", `PEPE_CONFIG "x.json": want an absolute path`, env("PEPE_CONFIG", "x.json", "HOME", "/h")},
		{"relative home", "", `PEPE_HOME ".pepe": want an absolute path`, env("PEPE_HOME", ".pepe", "HOME", "/h")},
		{"no tilde", "", `PEPE_HOME "~/p": want an absolute path`, env("PEPE_HOME", "~/p")},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Locate(c.getenv)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

const whole = `{
  "sandbox": "/opt/wrapper",
  "models": {"m": {"api_key": "${MODEL_KEY}", "${IN_A_KEY}": ["x ${A1}${B_2} y", {"deep": "${DEEP}"}]}},
  "secrets": {"vault_env": ["OP_TOKEN"], "expose_env": ["GH_TOKEN", "X"], "redact_output": false},
  "sbx": {
    "backend": "direct", "accept_gaps": ["stat-hidden"], "require": ["network-off"],
    "network": "off", "explain_denials": "reads", "timeout": "1m30s",
    "allow_write": ["/data", "~/out"], "allow_read": ["~"], "hide": ["/srv/keys"], "audit": "/var/log/sbx", "redact": true,
    "netwrok": "off", "Network": "on"
  },
  "anything": 1
}`

func TestParseWhole(t *testing.T) {
	got, err := Parse("/c.json", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	timeout, no := 90*time.Second, false
	want := Config{
		RedactOutput: &no, Redact: true,
		Audit: "/var/log/sbx",
		Path:  "/c.json", Found: true, Sandbox: "/opt/wrapper",
		References: []string{"A1", "B_2", "DEEP", "IN_A_KEY", "MODEL_KEY"},
		VaultEnv:   []string{"OP_TOKEN"}, ExposeEnv: []string{"GH_TOKEN", "X"},
		Backends: []string{"direct"}, Explain: "reads", AcceptGaps: []string{"stat-hidden"}, Require: []string{"network-off"},
		Network: "off", Timeout: &timeout,
		AllowWrite: []string{"/data", "~/out"}, AllowRead: []string{"~"}, Hide: []string{"/srv/keys"},
		Unknown: []string{"sbx.netwrok", "sbx.Network"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestReferences(t *testing.T) {
	for text, want := range map[string][]string{
		"":                  nil,
		"$A ${ A} ${} $${}": nil,
		"${A}":              {"A"},
		"a${A}b${B}c":       {"A", "B"},
		"${lower_1}":        {"lower_1"},
		"${A:-default}":     {"A"},
		"${A":               {"A"},
		"${A${B}":           {"A", "B"},
		"$${A}":             {"A"},
		"exec:op read $X":   nil, // runs with a near-empty environment; vault_env names X
		"${":                nil,
	} {
		if got := appendReferences(nil, text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for name, text := range map[string]string{
		"an empty object":             `{}`,
		"a byte order mark":           "\xef\xbb\xbf{}",
		"white space around":          " \r\n{}\n\n",
		"null for absent":             `{"sandbox": null, "secrets": null, "sbx": null}`,
		"null below":                  `{"secrets": {"vault_env": null}, "sbx": {"network": null, "timeout": null, "hide": null, "backend": null}}`,
		"empty lists":                 `{"sbx": {"hide": []}}`,
		"keys of others twice":        `{"a": 1, "a": 2, "models": {"x": 1, "x": 2}}`,
		"a sandbox that is no string": `{"sandbox": 5}`,
		"256 levels":                  strings.Repeat(`{"a":`, 256) + "1" + strings.Repeat("}", 256),
	} {
		c, err := Parse("/c.json", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(c, Config{Path: "/c.json", Found: true}) {
			t.Errorf("%s: got %+v", name, c)
		}
	}
	if c, err := Parse("/c.json", []byte(`{"sbx": {"timeout": "0s"}}`)); err != nil || c.Timeout == nil || *c.Timeout != 0 {
		t.Errorf("a time limit of 0s: %v, %v", c.Timeout, err)
	}
	if c, _ := Parse("/c.json", []byte(`{"a": {"k": "${ONE}", "k": "${TWO}"}}`)); !slices.Equal(c.References, []string{"ONE", "TWO"}) {
		t.Errorf("references of a key that stands twice: %q", c.References)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an empty file", "", `config "/c.json": 1:1: the file is empty; an object is wanted, at least {}`},
		{"white space", "\n \n", `config "/c.json": 1:1: the file is empty; an object is wanted, at least {}`},
		{"a list", "[]", `config "/c.json": 1:1: want an object, have a list`},
		{"null", "null", `config "/c.json": 1:1: want an object, have null`},
		{"a typing error", "{\n  \"a\": 1,\n  \"b\": x\n}", `config "/c.json": 3:8: invalid character 'x' looking for beginning of value`},
		{"columns count characters", "{\"ä\": x}", `config "/c.json": 1:7: invalid character 'x' looking for beginning of value`},
		{"a comma too many", "{\"a\": 1,}", `config "/c.json": 1:9: invalid character '}' looking for beginning of object key string`},
		{"a comment", "{} // x", `config "/c.json": 1:4: invalid character '/' after top-level value`},
		{"trailing garbage", "{}\n{}", `config "/c.json": 2:1: invalid character '{' after top-level value`},
		{"cut short", "{\"sbx\": {\"network\": \"off\"", `config "/c.json": 1:25: unexpected end of JSON input`},
		{"not UTF-8", "{\n\"a\": \"\xff\"}", `config "/c.json": 2:7: not UTF-8`},
		{"UTF-16", "\xff\xfe{\x00}\x00", `config "/c.json": 1:1: not UTF-8`},
		{"257 levels", strings.Repeat(`[`, 257) + strings.Repeat("]", 257), `config "/c.json": 1:258: nested deeper than 256 levels`},
		{"a million levels", strings.Repeat(`[`, 1000000), `config "/c.json": 1:10001: invalid character '[' exceeded max depth`},
		{"sbx twice", "{\"sbx\": {},\n \"sbx\": {}}", `config "/c.json": 2:7: sbx: stands twice; which one counts is not certain`},
		{"network twice", `{"sbx": {"network": "on", "network": "off"}}`, `config "/c.json": 1:36: sbx.network: stands twice; which one counts is not certain`},
		{"vault_env twice", `{"secrets": {"vault_env": [], "vault_env": []}}`, `config "/c.json": 1:42: secrets.vault_env: stands twice; which one counts is not certain`},
		{"sbx no object", `{"sbx": "off"}`, `config "/c.json": sbx: want an object, have "off"`},
		{"secrets no object", `{"secrets": []}`, `config "/c.json": secrets: want an object, have a list`},
		{"timeout a number", `{"sbx": {"timeout": 5}}`, `config "/c.json": sbx.timeout: want a duration like "30s", have 5`},
		{"timeout no unit", `{"sbx": {"timeout": "5"}}`, `config "/c.json": sbx.timeout: want a duration like "30s", have "5"`},
		{"timeout negative", `{"sbx": {"timeout": "-5s"}}`, `config "/c.json": sbx.timeout: want a duration like "30s", have "-5s"`},
		{"network a switch", `{"sbx": {"network": false}}`, `config "/c.json": sbx.network: want "off", "on", "auto" or "allow:HOST,…", have false`},
		{"network empty", `{"sbx": {"network": ""}}`, `config "/c.json": sbx.network: want "off", "on", "auto" or "allow:HOST,…", have ""`},
		{"network another word", `{"sbx": {"network": "none"}}`, `config "/c.json": sbx.network: want "off", "on", "auto" or "allow:HOST,…", have "none"`},
		{"explain a switch", `{"sbx": {"explain_denials": true}}`, `config "/c.json": sbx.explain_denials: want "off", "writes" or "reads", have true`},
		{"explain empty", `{"sbx": {"explain_denials": ""}}`, `config "/c.json": sbx.explain_denials: want "off", "writes" or "reads", have ""`},
		{"backend a number", `{"sbx": {"backend": 1}}`, `config "/c.json": sbx.backend: want a word, have 1`},
		{"no backend in the list", `{"sbx": {"backend": []}}`, `config "/c.json": sbx.backend: the list is empty: no backend could be used`},
		{"backend twice removed", `{"sbx": {"backend": [["direct"]]}}`, `config "/c.json": sbx.backend[0]: want a word, have a list`},
		{"auto in an order", `{"sbx": {"backend": ["docker", "auto"]}}`, `config "/c.json": sbx.backend[1]: "auto" stands alone: an order says itself what comes first`},
		{"backend empty", `{"sbx": {"backend": ""}}`, `config "/c.json": sbx.backend: want a word, have ""`},
		{"gaps no list", `{"sbx": {"accept_gaps": "x"}}`, `config "/c.json": sbx.accept_gaps: want a list of words, have "x"`},
		{"require with a number", `{"sbx": {"require": ["x", 1]}}`, `config "/c.json": sbx.require[1]: want a word, have 1`},
		{"audit relative", `{"sbx": {"audit": "a"}}`, `config "/c.json": sbx.audit: want the path of a file that begins with "/" or "~/", have "a"`},
		{"audit list", `{"sbx": {"audit": ["/a"]}}`, `config "/c.json": sbx.audit: want the path of a file that begins with "/" or "~/", have a list`},
		{"audit directory", `{"sbx": {"audit": "/a/"}}`, `config "/c.json": sbx.audit: want the path of a file that begins with "/" or "~/", have "/a/"`},
		{"hide relative", `{"sbx": {"hide": ["keys"]}}`, `config "/c.json": sbx.hide[0]: want a path that begins with "/" or "~/", have "keys"`},
		{"hide of another's home", `{"sbx": {"hide": ["~bob"]}}`, `config "/c.json": sbx.hide[0]: want a path that begins with "/" or "~/", have "~bob"`},
		{"allow_write no list", `{"sbx": {"allow_write": "/"}}`, `config "/c.json": sbx.allow_write: want a list of paths, have "/"`},
		{"vault_env a string is not shown", `{"secrets": {"vault_env": "hunter2"}}`, `config "/c.json": secrets.vault_env: want a list of variable names, have a string`},
		{"vault_env with a value is not shown", `{"secrets": {"vault_env": ["A", "B=hunter2"]}}`, `config "/c.json": secrets.vault_env[1]: want a variable name, have a string`},
		{"expose_env with a reference", `{"secrets": {"expose_env": ["${A}"]}}`, `config "/c.json": secrets.expose_env[0]: want a variable name, have a string`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse("/c.json", []byte(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if !reflect.DeepEqual(got, Config{}) {
				t.Errorf("with the error came %+v", got)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".pepe")
	path := filepath.Join(dir, "config.json")
	getenv := env("HOME", home)

	if c, err := Load(getenv); err != nil || !reflect.DeepEqual(c, Config{Path: path}) {
		t.Errorf("no file: %+v, %v", c, err)
	}
	if c, err := Load(env()); err != nil || !reflect.DeepEqual(c, Config{}) {
		t.Errorf("no place to look: %+v, %v", c, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, path, `{"sbx": {"allow_write": ["~/out", "/x"], "hide": ["~"], "audit": "~/audit"}}`)
	c, err := Load(getenv)
	if err != nil || c.Audit != filepath.Join(home, "audit") || !slices.Equal(c.AllowWrite, []string{filepath.Join(home, "out"), "/x"}) || !slices.Equal(c.Hide, []string{home}) {
		t.Errorf("home directory: %+v, %v", c, err)
	}
	if _, err := Load(env("PEPE_CONFIG", path)); err == nil || !strings.Contains(err.Error(), `sbx.allow_write[0]: "~/out" needs HOME`) {
		t.Errorf("no HOME for the tilde: %v", err)
	}
	write(t, path, `{"sbx": `)
	c, err = Load(getenv)
	var e *Error
	if !errors.As(err, &e) || e.Line != 1 || e.Path != path || c.Path != path {
		t.Errorf("broken file: %+v, %v", c, err)
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name, want string
		make       func(path string) error
	}{
		{"directory", "not a regular file", func(p string) error { return os.Mkdir(p, 0o700) }},
		{"loose link", "is a link that leads nowhere", func(p string) error { return os.Symlink(at("nowhere"), p) }},
		{"loop", "too many levels of symbolic links", func(p string) error { return os.Symlink(p, p) }},
		{"below a file/config.json", "not a directory", func(p string) error { return os.WriteFile(filepath.Dir(p), nil, 0o600) }},
		{"device", "not a regular file", func(p string) error { return os.Symlink("/dev/zero", p) }},
		{"large", "larger than 8 MiB", func(p string) error { return os.WriteFile(p, make([]byte, maxBytes+1), 0o600) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("messages of this test are those of Unix")
			}
			if err := c.make(at(c.name)); err != nil {
				t.Fatal(err)
			}
			_, err := Read(at(c.name))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "config ") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	// Control: a link to a good file of the largest size is read.
	write(t, at("good"), "{}"+strings.Repeat(" ", maxBytes-2))
	if err := os.Symlink(at("good"), at("link")); err != nil {
		t.Fatal(err)
	}
	if c, err := Read(at("link")); err != nil || !c.Found {
		t.Errorf("link to a good file: %+v, %v", c, err)
	}
}

func TestOverrides(t *testing.T) {
	for value, want := range map[string]string{"": "", "bridge": "on", "none": "off", "allow:": "allow:", "allow:a.test": "allow:a.test"} {
		if o, err := ReadOverrides(env("PEPE_SANDBOX_NET", value)); err != nil || o.Network != want {
			t.Errorf("%q: got %q, %v", value, o.Network, err)
		}
	}
	for _, value := range []string{"host", "on", "off", "None", "bridge ", "allow", "Allow:a.test", "auto"} {
		_, err := ReadOverrides(env("PEPE_SANDBOX_NET", value))
		if err == nil || !strings.Contains(err.Error(), `want "bridge", "none" or "allow:HOST,…"`) {
			t.Errorf("%q: %v", value, err)
		}
	}
	got, err := ReadOverrides(env("PEPE_SANDBOX_IMAGE", "i", "PEPE_SANDBOX_MEM", "1g", "PEPE_SANDBOX_CPUS", "2", "PEPE_SANDBOX_RUNTIME", "podman"))
	if err != nil || got.Memory == nil || *got.Memory != 1<<30 {
		t.Errorf("memory %v, %v", got.Memory, err)
	}
	got.Memory = nil
	if got != (Overrides{Image: "i", CPUs: "2", Runtime: "podman"}) {
		t.Errorf("got %+v", got)
	}
	for _, value := range []string{"lots", "-1", "512", "1e3m", "9999999t", "m", "1.5.2g"} {
		if _, err := ReadOverrides(env("PEPE_SANDBOX_MEM", value)); err == nil || !strings.Contains(err.Error(), "read PEPE_SANDBOX_MEM: ") {
			t.Errorf("memory %q: %v", value, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"secrets": {"vault_env": ["${A"]}, "sbx": {"hide": [null]}}`))
	f.Add([]byte("\xef\xbb\xbf[[{\"sbx\":1}]]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("/c.json", data)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line == 0 && e.Key == "" {
				t.Fatalf("%v says no place", err)
			}
			return
		}
		if !c.Found || c.Network != "" && c.Network != "on" && c.Network != "off" && c.Network != "auto" && !strings.HasPrefix(c.Network, "allow:") {
			t.Fatalf("accepted %+v", c)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
