package config

import (
	"slices"
	"strings"
	"testing"
)

func TestSlots(t *testing.T) {
	const text = `{
		"slots": {"sandbox": "podman", "memory": "x"},
		"agents": {"ann": {"slots": {"sandbox": "docker"}}, "bob": {"slots": {"sandbox": "default"}}, "cy": {"slots": {"sandbox": null}}, "dee": "odd", "eve": {"tools": []},
			"fay": {"slots": {"sandbox": ["bwrap", "direct"]}}},
		"projects": {"p": {"default_slots": {"sandbox": "firejail"}, "slots": {"sandbox": "not this one"}}, "q": null},
		"sbx": {"backend": ["direct", "docker"]}
	}`
	c, err := Parse("/c.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ agent, project, want, key string }{
		{"ann", "p", "docker", "agents.ann.slots.sandbox"},
		{"bob", "p", "firejail", "projects.p.default_slots.sandbox"},
		{"cy", "q", "podman", "slots.sandbox"},
		{"dee", "", "podman", "slots.sandbox"},
		{"eve", "nope", "podman", "slots.sandbox"},
		{"fay", "p", "bwrap direct", "agents.fay.slots.sandbox"},
		{"", "p", "firejail", "projects.p.default_slots.sandbox"},
		{"", "", "podman", "slots.sandbox"},
	} {
		got, key := c.For(tt.agent, tt.project)
		if strings.Join(got, " ") != tt.want || key != tt.key {
			t.Errorf("%s/%s: %q by %s", tt.agent, tt.project, got, key)
		}
	}
	c.Slots.All = nil
	if got, key := c.For("", ""); !slices.Equal(got, []string{"direct", "docker"}) || key != "sbx.backend" {
		t.Errorf("%q by %s", got, key)
	}
	for _, bad := range []struct{ text, want string }{
		{`"slots": {"sandbox": 7}`, "slots.sandbox: want a word, have 7"},
		{`"slots": {"sandbox": ""}`, `slots.sandbox: want a word, have ""`},
		{`"agents": {"a": {"slots": {"sandbox": [""]}}}`, `agents.a.slots.sandbox[0]: want a word, have ""`},
		{`"agents": {"a": {"slots": {"sandbox": "x", "sandbox": "y"}}}`, "agents.a.slots.sandbox: stands twice"},
		{`"agents": {"a": {"slots": {}, "slots": {"sandbox": "y"}}}`, "agents.a.slots: stands twice"},
		{`"agents": {"a": {}, "a": {"slots": {"sandbox": "y"}}}`, "agents.a: stands twice"},
		{`"projects": {"p": {"default_slots": {"sandbox": {}}}}`, "projects.p.default_slots.sandbox: want a word"},
	} {
		if _, err := Parse("/c.json", []byte("{"+bad.text+"}")); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v", bad.text, err)
		}
	}
}
