package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestGuardAllow(t *testing.T) {
	text := `{"sbx": {"guard": {"allow": [
		{"rule": "delete-system", "path": "/var/lib/app", "reason": "ours"},
		{"rule": "delete-system", "path": "~/scratch", "reason": "ours"},
		{"rule": "power-off", "argv": ["systemctl", "reboot"], "reason": "a test machine"}]}}}`
	c, err := Parse("/c.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.expandHome("/home/ann"); err != nil {
		t.Fatal(err)
	}
	want := []Allow{
		{Rule: "delete-system", Path: "/var/lib/app", Reason: "ours"},
		{Rule: "delete-system", Path: "/home/ann/scratch", Reason: "ours"},
		{Rule: "power-off", Argv: []string{"systemctl", "reboot"}, Reason: "a test machine"},
	}
	if !reflect.DeepEqual(c.GuardAllow, want) {
		t.Errorf("%+v", c.GuardAllow)
	}
	if c, err = Parse("/c.json", []byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := c.expandHome(""); err == nil || !strings.Contains(err.Error(), "sbx.guard.allow[1].path") {
		t.Errorf("without HOME: %v", err)
	}
	for _, text := range []string{`{}`, `{"allow": null}`, `{"allow": []}`, `null`} {
		if c, err := Parse("/c.json", []byte(`{"sbx": {"guard": `+text+`}}`)); err != nil || len(c.GuardAllow) != 0 {
			t.Errorf("%s: %+v, %v", text, c.GuardAllow, err)
		}
	}
}

func TestGuardAllowRefuses(t *testing.T) {
	for guard, want := range map[string]string{
		`[]`:                           "sbx.guard: want an object",
		`{"alow": []}`:                 "sbx.guard.alow: there is no such key",
		`{"allow": {}}`:                "sbx.guard.allow: want a list",
		`{"allow": ["delete-system"]}`: "sbx.guard.allow[0]: want an object",
		`{"allow": [{}]}`:              `"rule" is missing`,
		`{"allow": [null]}`:            "sbx.guard.allow[0]: want an object",
		`{"allow": [{"rule": "r", "path": "/x"}]}`:                               `"reason" is missing`,
		`{"allow": [{"rule": "r", "reason": "x"}]}`:                              "everything",
		`{"allow": [{"rule": "r", "reason": "x", "argv": []}]}`:                  "everything",
		`{"allow": [{"rule": "r", "reason": "x", "path": null}]}`:                "path",
		`{"allow": [{"rule": "r", "reason": "x", "path": "x"}]}`:                 "path",
		`{"allow": [{"rule": "r", "reason": "x", "path": ["/x"]}]}`:              "path",
		`{"allow": [{"rule": "r", "reason": "x", "argv": "reboot"}]}`:            "argv: want a list",
		`{"allow": [{"rule": "r", "reason": "x", "argv": [1]}]}`:                 "argv[0]",
		`{"allow": [{"rule": "r", "reason": "x", "path": "/x", "argv": ["a"]}]}`: "want one of them",
		`{"allow": [{"rule": "r", "reason": "x", "path": "/x", "pahts": "/y"}]}`: "pahts: there is no such key",
		`{"allow": [{"rule": "r", "reason": "x", "path": "/x", "path": "/y"}]}`:  "stands twice",
		`{"allow": [{"rule": "r", "reason": "x", "path": "/x"}], "allow": []}`:   "stands twice",
		`{"allow": [{"rule": "r", "reason": "x", "path": "/x"}, {"rule": 1}]}`:   "[1].rule: want a word",
	} {
		_, err := Parse("/c.json", []byte(`{"sbx": {"guard": `+guard+`}}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", guard, err, want)
		}
	}
}
