package hook

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzAnswer: what is not one JSON value, or asks about a command without
// naming it, is refused, whatever the options; and the answer is always JSON or
// nothing.
func FuzzAnswer(f *testing.F) {
	files, _ := filepath.Glob("../testdata/hook/*/*.json")
	for i, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, uint8(i))
	}
	f.Fuzz(func(t *testing.T, src []byte, mode uint8) {
		p := Protocols()[int(mode)%len(Protocols())]
		o := Options{AutoAllow: true, Unasked: None, Allowed: 0xffff, Check: standInCheck, Classify: standInClassify}
		if mode&16 != 0 {
			o.Sbx = "/opt/sbx"
		}
		a := p.answer(bytes.NewReader(src), o) // without the net: a panic is a find
		requireJSONValue(t, a)
		plain := bytes.TrimPrefix(src, []byte(bom))
		var event struct {
			Name  string          `json:"hook_event_name"`
			Tool  string          `json:"tool_name"`
			Input json.RawMessage `json:"tool_input"`
		}
		if !json.Valid(plain) {
			requireRefusal(t, p, a)
			return
		}
		if json.Unmarshal(plain, &event) != nil || event.Name != p.events[0].name {
			return
		}
		if tools := p.events[0].tools; len(tools) > 0 {
			if event.Tool != tools[0].name {
				return
			}
			plain = event.Input
		}
		var input map[string]any
		_ = json.Unmarshal(plain, &input)
		command, ok := input["command"].(string)
		if !ok || standIn(command) {
			requireRefusal(t, p, a)
		}
	})
}

// standIn is a command that the stand-in for guard surely refuses.
func standIn(command string) bool { return command == "rm -rf /" || command == "ls && rm -rf /" }

// requireJSONValue is requireJSON without the rule of one line: the input of a
// tool is handed back as it came.
func requireJSONValue(t *testing.T, a Answer) {
	t.Helper()
	if a.Stdout != "" && (!json.Valid([]byte(a.Stdout)) || a.Stdout[0] != '{') {
		t.Fatalf("standard output is no JSON object: %q", a.Stdout)
	}
}

// FuzzSettings: whatever settings file can be read, the entry goes in, a second
// installation changes nothing, and taking it out gives the file back.
func FuzzSettings(f *testing.F) {
	for _, s := range settingsFiles {
		f.Add(s.text, uint8(0))
		f.Add(s.text, uint8(7))
	}
	f.Fuzz(func(t *testing.T, text string, mode uint8) {
		p := Protocols()[int(mode)%len(Protocols())]
		var flags []string
		if mode&8 != 0 {
			flags = []string{confineFlag}
		}
		install := func(src string) (string, error) {
			d := &document{p: p, src: []byte(src)}
			for _, e := range p.settings.entries(true) {
				if p.wants(e, flags) {
					if err := d.install(e, p.commandLine(testSbx, flags, e)); err != nil {
						return "", err
					}
				}
			}
			return string(d.src), nil
		}
		if strings.Contains(text, "hook") && strings.Contains(text, p.Name) {
			return // it may hold an entry already
		}
		installed, err := install(text)
		if err != nil {
			return
		}
		if _, err := parseJSON([]byte(installed), true); err != nil {
			t.Fatalf("the result does not parse: %v\n%q\n%q", err, text, installed)
		}
		if again, err := install(installed); err != nil || again != installed {
			t.Fatalf("second installation: %v\n%q\n%q", err, installed, again)
		}
		d := &document{p: p, src: []byte(installed)}
		entries := p.settings.entries(true)
		for i := len(entries) - 1; i >= 0; i-- {
			if err := d.removeAll(entries[i].event); err != nil {
				t.Fatal(err)
			}
		}
		if string(d.src) != text {
			t.Fatalf("uninstall gives\n%q\nwant\n%q\ninstalled\n%q", d.src, text, installed)
		}
	})
}
