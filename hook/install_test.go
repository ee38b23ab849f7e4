package hook

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// settingsFiles are settings as people have them. Each goes through every
// agent's installation and back.
var settingsFiles = []struct{ name, text string }{
	{"empty", ""},
	{"newline", "\n"},
	{"crlf newline", "\r\n"},
	{"bom alone", bom},
	{"object", "{}"},
	{"object and newline", "{}\n"},
	{"object with a space", "{ }\n"},
	{"object over two lines", "{\n}\n"},
	{"object over two lines, indented", "{\n  }\n"},
	{"object with a comment", "{\n  // nothing yet\n}\n"},
	{"one line", `{"model": "opus", "env": {"A": "1"}}`},
	{"one line, no spaces", `{"model":"opus","env":{"A":"1"}}`},
	{"one line, comma at the end", `{"model": "opus",}`},
	{"version", "{\n  \"version\": 1\n}\n"},
	{"version and no newline", "{\n  \"version\": 1\n}"},
	{"empty hooks", "{\n  \"hooks\": {}\n}\n"},
	{"empty hooks over two lines", "{\n  \"hooks\": {\n  }\n}\n"},
	{"empty hooks on one line", `{"hooks": {}}`},
	{"empty events", "{\n  \"hooks\": {\n    \"PreToolUse\": [],\n    \"BeforeTool\": [ ],\n    \"beforeShellExecution\": [\n    ],\n    \"preToolUse\": [\n\n    ]\n  }\n}\n"},
	{"empty events on one line", `{"hooks": {"PreToolUse": [], "BeforeTool": [], "beforeShellExecution": [], "preToolUse": []}}`},
	{"settings", "{\n  \"$schema\": \"https://json.schemastore.org/claude-code-settings.json\",\n  \"permissions\": {\n    \"allow\": [\"Bash(npm run lint)\", \"Read(~/.zshrc)\"],\n    \"deny\": []\n  },\n  \"env\": {\"A\": \"\\u00e9 \\\"b\\\"\"},\n  \"cleanupPeriodDays\": 20\n}\n"},
	{"tabs", "{\n\t\"model\": \"opus\",\n\t\"hooks\": {\n\t\t\"PostToolUse\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"Edit\",\n\t\t\t\t\"hooks\": [{ \"type\": \"command\", \"command\": \"fmt\" }]\n\t\t\t}\n\t\t]\n\t}\n}\n"},
	{"four spaces and crlf", "{\r\n    \"model\": \"opus\",\r\n    \"hooks\": {\r\n        \"Stop\": []\r\n    }\r\n}\r\n"},
	{"bom and crlf", bom + "{\r\n  \"model\": \"opus\"\r\n}\r\n"},
	{"comments", "// mine\n{\n  // the model\n  \"model\": \"opus\", // best\n  /* hooks:\n     none */\n  \"theme\": \"dark\" /* a */ // b\n  // last\n}\n// end\n"},
	{"comments after a comma", "{\n  \"model\": \"opus\", // best\n  // last\n}\n"},
	{"commas at the end", "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [],},\n    ],\n  },\n}\n"},
	{"other hooks", "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"~/.claude/guard.sh\"\n          }\n        ]\n      }\n    ],\n    \"BeforeTool\": [\n      {\"matcher\": \"write_file\", \"hooks\": [{\"type\": \"command\", \"command\": \"check\"}]}\n    ],\n    \"beforeShellExecution\": [\n      { \"command\": \"./hooks/audit.sh\" }, // ours\n    ],\n    \"preToolUse\": [{ \"command\": \"./hooks/pre.sh\" }]\n  },\n  \"version\": 1\n}\n"},
	{"another program named hook", "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"husky hook claude-code\"}]}], \"beforeShellExecution\": [{\"command\": \"mysbx hook cursor\"}]}}\n"},
}

const testSbx = "/opt/it's here/sbx"

func TestInstallAndUninstallGiveTheFileBack(t *testing.T) {
	for _, p := range Protocols() {
		for _, flags := range [][]string{nil, {"--confine", "--allow", "writes_file"}} {
			for _, f := range settingsFiles {
				t.Run(p.Name+"/"+strings.Join(flags, "")+"/"+f.name, func(t *testing.T) {
					place, path := settingsAt(t, p, f.text)
					installed := applied(t, path)(p.Install(place, testSbx, flags))
					if installed == f.text {
						t.Fatal("nothing was installed")
					}
					requireEntries(t, p, installed, p.wantedLines(testSbx, flags))
					requireKept(t, f.text, installed)
					again, err := p.Install(place, testSbx, flags)
					if err != nil || !again.Empty() || again.Diff() != "" {
						t.Errorf("second installation: %v\n%s", err, again.Diff())
					}
					if got := applied(t, path)(p.Uninstall(place)); got != f.text {
						t.Errorf("after uninstall\n%q\nwant\n%q\ninstalled\n%s", got, f.text, installed)
					}
				})
			}
		}
	}
}

func TestInstallMakesAndRemovesTheFile(t *testing.T) {
	for _, p := range Protocols() {
		place := userPlace(t)
		path, err := p.path(place)
		if err != nil {
			t.Fatal(err)
		}
		installed := applied(t, path)(p.Install(place, testSbx, nil))
		requireEntries(t, p, installed, p.wantedLines(testSbx, nil))
		if !strings.HasSuffix(installed, "\n") {
			t.Errorf("%s: no newline at the end", p.Name)
		}
		c, err := p.Uninstall(place)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(c.Diff(), "+++ /dev/null") {
			t.Errorf("%s: the diff does not show that the file goes:\n%s", p.Name, c.Diff())
		}
		if err := c.Apply(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: %s is still there: %v", p.Name, path, err)
		}
		if c, err := p.Uninstall(place); err != nil || !c.Empty() {
			t.Errorf("%s: uninstalling nothing: %v, %+v", p.Name, err, c)
		}
	}
}

func TestInstallUpdates(t *testing.T) {
	for _, p := range Protocols() {
		for _, f := range settingsFiles {
			place, path := settingsAt(t, p, f.text)
			applied(t, path)(p.Install(place, "/old/sbx", nil))
			applied(t, path)(p.Install(place, "/old/sbx", []string{"--confine"}))
			got := applied(t, path)(p.Install(place, testSbx, []string{"--auto-allow"}))
			requireEntries(t, p, got, p.wantedLines(testSbx, []string{"--auto-allow"}))
			if strings.Contains(got, "/old/sbx") {
				t.Errorf("%s, %s: the old path is still there:\n%s", p.Name, f.name, got)
			}
			if back := applied(t, path)(p.Uninstall(place)); back != f.text {
				t.Errorf("%s, %s: after updates and uninstall\n%q\nwant\n%q", p.Name, f.name, back, f.text)
			}
		}
	}
}

func TestInstallKeepsWhatTheUserAdded(t *testing.T) {
	p := claudeCode
	place, path := settingsAt(t, p, "{}\n")
	installed := applied(t, path)(p.Install(place, testSbx, nil))
	edited := strings.Replace(installed, `"type": "command",`, `"timeout": 5, "type": "command",`, 1)
	edited = strings.Replace(edited, `"onFailure": "block"`, `"onFailure": "block"}, {"type": "command", "command": "mine"`, 1)
	write(t, path, edited)
	updated := applied(t, path)(p.Install(place, "/new/sbx", nil))
	for _, kept := range []string{`"timeout": 5`, `"command": "mine"`, `/new/sbx`} {
		if !strings.Contains(updated, kept) {
			t.Errorf("%s is gone:\n%s", kept, updated)
		}
	}
	left := applied(t, path)(p.Uninstall(place))
	if !strings.Contains(left, `"command": "mine"`) || strings.Contains(left, "hook claude-code") {
		t.Errorf("uninstall left\n%s", left)
	}
}

func TestInstallAddsWhatAnEarlierVersionLacked(t *testing.T) {
	place, path := settingsAt(t, claudeCode, `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sbx hook claude-code"}]}]}}`)
	got := applied(t, path)(claudeCode.Install(place, testSbx, nil))
	requireEntries(t, claudeCode, got, claudeCode.wantedLines(testSbx, nil))
	if !strings.Contains(got, `"onFailure": "block"`) || strings.Count(got, "hook claude-code") != 1 {
		t.Errorf("got\n%s", got)
	}
}

func TestInstallRemovesSecondEntries(t *testing.T) {
	entry := `{"matcher": "Bash", "hooks": [{"type": "command", "command": "'/a/sbx' hook codex || exit 2"}, {"type": "command", "command": "other"}]}`
	place, path := settingsAt(t, codex, `{"hooks": {"PreToolUse": [`+entry+", "+entry+`]}}`)
	got := applied(t, path)(codex.Install(place, testSbx, nil))
	if strings.Count(got, "hook codex") != 1 || strings.Count(got, `"other"`) != 2 {
		t.Errorf("got\n%s", got)
	}
}

func TestInstallRefusesWhatItCannotRead(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"cut", "{\n  \"model\": \"opus\",\n  \"hooks\": {", "3:13"},
		{"no object", `[]`, "1:1: it is no object"},
		{"hooks is no object", "{\n  \"hooks\": []\n}", `2:12: "hooks" is no object`},
		{"event is no list", `{"hooks": {"PreToolUse": {}}}`, `1:26: "PreToolUse" is no list`},
		{"key twice", "{\"hooks\": {},\n\"hooks\": {}}", `2:1: the key "hooks" is there twice`},
		{"comment only", "// todo\n", "2:1"},
		{"not UTF-8", "{\"a\": \"\xff\"}", "not UTF-8"},
		{"no JSON", "model = 1\n", "1:1: not a JSON value"},
		{"single quotes", `{'a': 1}`, "1:2: want a key in quotes"},
	}
	for _, c := range cases {
		place, path := settingsAt(t, claudeCode, c.text)
		_, err := claudeCode.Install(place, testSbx, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q and the path", c.name, err, c.want)
		}
		if got := read(t, path); got != c.text {
			t.Errorf("%s: the file changed to %q", c.name, got)
		}
	}
}

func TestInstallKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	place, path := settingsAt(t, claudeCode, "{}\n")
	real := filepath.Join(t.TempDir(), "dotfiles.json")
	write(t, real, "{}\n")
	if err := os.Chmod(real, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, path); err != nil {
		t.Fatal(err)
	}
	applied(t, path)(claudeCode.Install(place, testSbx, nil))
	if to, err := os.Readlink(path); err != nil || to != real {
		t.Errorf("the link is now %q, %v", to, err)
	}
	if !strings.Contains(read(t, real), "hook claude-code") {
		t.Error("what the link points to was not written")
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v, want 0640", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(real), ".*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestInstallStaysOnItsSideOfALink(t *testing.T) {
	place := userPlace(t)
	project := place.Dir
	mustDir(t, filepath.Join(place.Home, ".claude"))
	mustDir(t, filepath.Join(project, ".claude"))
	mine, theirs := filepath.Join(place.Home, ".claude", "settings.json"), filepath.Join(project, ".claude", "settings.json")

	write(t, theirs, "{}\n")
	if err := os.Symlink(theirs, mine); err != nil {
		t.Fatal(err)
	}
	if _, err := claudeCode.Install(place, testSbx, nil); err == nil || !strings.Contains(err.Error(), "--project") {
		t.Errorf("user settings that are a link into the project: %v", err)
	}

	os.Remove(mine)
	os.Remove(theirs)
	write(t, mine, "{}\n")
	if err := os.Symlink(mine, theirs); err != nil {
		t.Fatal(err)
	}
	place.Project = true
	if _, err := claudeCode.Install(place, testSbx, nil); err == nil || !strings.Contains(err.Error(), "out of the project") {
		t.Errorf("project settings that are a link to the user's: %v", err)
	}
	os.Remove(theirs)
	os.Remove(filepath.Dir(theirs))
	if err := os.Symlink(filepath.Dir(mine), filepath.Dir(theirs)); err != nil {
		t.Fatal(err)
	}
	if _, err := claudeCode.Install(place, testSbx, nil); err == nil || !strings.Contains(err.Error(), "out of the project") {
		t.Errorf("project folder that is a link to the user's: %v", err)
	}
	if got := read(t, mine); got != "{}\n" {
		t.Errorf("the user's settings became %q", got)
	}
}

func TestInstallInProject(t *testing.T) {
	place := userPlace(t)
	place.Project = true
	path := filepath.Join(place.Dir, ".cursor", "hooks.json")
	requireEntries(t, cursor, applied(t, path)(cursor.Install(place, testSbx, nil)), cursor.wantedLines(testSbx, nil))
	if _, err := os.Stat(filepath.Join(place.Home, ".cursor")); !os.IsNotExist(err) {
		t.Errorf("something was written at home: %v", err)
	}
}

func TestInstallFollowsTheAgentsOwnVariable(t *testing.T) {
	place := userPlace(t)
	dir := t.TempDir()
	place.Getenv = func(name string) string {
		if name == "CODEX_HOME" {
			return dir
		}
		return ""
	}
	applied(t, filepath.Join(dir, "hooks.json"))(codex.Install(place, testSbx, nil))
}

func TestApplyRefusesAFileThatChanged(t *testing.T) {
	place, path := settingsAt(t, gemini, "{}\n")
	c, err := gemini.Install(place, testSbx, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "{\"theme\": \"dark\"}\n")
	if err := c.Apply(); err == nil || read(t, path) != "{\"theme\": \"dark\"}\n" {
		t.Errorf("error %v, file %q", err, read(t, path))
	}
}

func TestDiff(t *testing.T) {
	place, path := settingsAt(t, cursor, "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": []\n  }\n}\n")
	c, err := cursor.Install(place, "/opt/sbx", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "--- " + path + "\n+++ " + path + `
   "version": 1,
   "hooks": {
-    "stop": []
+    "stop": [],
+    "beforeShellExecution": [
+      {
+        "command": "'/opt/sbx' hook cursor || exit 2"
+      }
+    ]
   }
 }
`
	want = strings.Replace(want, "\n   \"version\"", "\n {\n   \"version\"", 1)
	if got := c.Diff(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// wantedLines are the command lines that an installation leaves, by event.
func (p Protocol) wantedLines(sbx string, flags []string) map[string]string {
	lines := map[string]string{}
	for _, e := range p.settings.entries(true) {
		if p.wants(e, flags) {
			lines[e.event] = p.commandLine(sbx, flags, e)
		}
	}
	return lines
}

func requireEntries(t *testing.T, p Protocol, text string, want map[string]string) {
	t.Helper()
	d := &document{p: p, src: []byte(text)}
	root, err := d.parse()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, e := range p.settings.entries(true) {
		_, list, err := d.list(root, e.event)
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, f := range d.find(list) {
			have = append(have, f.node.member("command").str(d.src))
		}
		if line, ok := want[e.event]; ok != (len(have) == 1) || ok && have[0] != line {
			t.Errorf("%s: have %q, want %q\n%s", e.event, have, line, text)
		}
	}
}

// requireKept: what was in the file still is, byte for byte, in the same order.
func requireKept(t *testing.T, before, after string) {
	t.Helper()
	at := 0
	for i := range len(before) {
		next := strings.IndexByte(after[at:], before[i])
		if next < 0 {
			t.Fatalf("byte %d of %q is gone from\n%s", i, before, after)
		}
		at += next + 1
	}
}

func userPlace(t *testing.T) Place {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no installation on Windows")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	place := Place{Home: filepath.Join(base, "home"), Dir: filepath.Join(base, "project")}
	mustDir(t, place.Home)
	mustDir(t, place.Dir)
	return place
}

func settingsAt(t *testing.T, p Protocol, text string) (Place, string) {
	t.Helper()
	place := userPlace(t)
	path, err := p.path(place)
	if err != nil {
		t.Fatal(err)
	}
	mustDir(t, filepath.Dir(path))
	write(t, path, text)
	return place, path
}

// applied makes a change and gives the file that came of it.
func applied(t *testing.T, path string) func(*Change, error) string {
	return func(c *Change, err error) string {
		t.Helper()
		if err == nil {
			err = c.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
		return read(t, path)
	}
}

func mustDir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
