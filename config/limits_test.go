package config

import (
	"strings"
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "1048576": 1 << 20, "1k": 1 << 10, "1K": 1 << 10, "512m": 512 << 20, "1.5g": 3 << 29, "2GiB": 2 << 30,
		"2gb": 2 << 30, "64kB": 64 << 10, "1t": 1 << 40, "10b": 10,
	} {
		if got, err := Size(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "m", "-1m", "+1m", "1 m", "1mm", "1mk", "1x", "0x10", "1e6", "inf", "NaN", "1.2.3k", "0.1", "9999999999t", "１m", "1i", "bib", ".",
	} {
		if got, err := Size(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
	if _, err := MemorySize("512"); err == nil || !strings.Contains(err.Error(), "less than 1m") {
		t.Errorf("a forgotten unit: %v", err)
	}
}

func TestLimits(t *testing.T) {
	c, err := Parse("/c.json", []byte(`{"sbx": {"limits": {"cpu_time": "30s", "memory": "512m", "processes": 256, "file_size": 1048576,
		"disk": "2g", "temp_size": "64m", "output": "10m", "output_over": "kill"}}}`))
	if err != nil || len(c.Unknown) > 0 {
		t.Fatal(err, c.Unknown)
	}
	l := c.Limits
	if *l.CPUTime != 30*time.Second || *l.Memory != 512<<20 || *l.Processes != 256 || *l.FileSize != 1<<20 || *l.Disk != 2<<30 ||
		*l.TempSize != 64<<20 || *l.Output != 10<<20 || l.OutputOver != "kill" {
		t.Errorf("%+v", l)
	}
	c, err = Parse("/c.json", []byte(`{"sbx": {"limits": {"memory": null}}}`))
	if err != nil || c.Limits != (Limits{}) {
		t.Errorf("%+v, %v", c.Limits, err)
	}
	for text, want := range map[string]string{
		`[]`:                               "sbx.limits: want an object, have a list",
		`{"memory": "lots"}`:               `sbx.limits.memory: want a size like 512m or 2g, have "lots"`,
		`{"memory": 512}`:                  "sbx.limits.memory: less than 1m",
		`{"memory": true}`:                 "sbx.limits.memory: want a size",
		`{"memory": -1}`:                   "sbx.limits.memory: want a size",
		`{"processes": "many"}`:            "sbx.limits.processes: want a number from 1 to",
		`{"processes": 1.5}`:               "sbx.limits.processes: want a number",
		`{"processes": 99999999}`:          "sbx.limits.processes: want a number",
		`{"cpu_time": 30}`:                 "sbx.limits.cpu_time: want a duration",
		`{"output_over": "drop"}`:          `sbx.limits.output_over: want "truncate" or "kill"`,
		`{"memroy": "1g"}`:                 "sbx.limits.memroy: no such limit",
		`{"memory": "1g", "memory": "2g"}`: "stands twice",
	} {
		if _, err := Parse("/c.json", []byte(`{"sbx": {"limits": `+text+`}}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A project may ask for limits for its own commands.
func TestWorkspaceLimits(t *testing.T) {
	w, err := ParseWorkspaceFile("/ws/.sbx.json", []byte(`{"limits": {"memory": "512m"}}`))
	if err != nil || w.Limits.Memory == nil || *w.Limits.Memory != 512<<20 || w.Network != "" {
		t.Errorf("%+v, %v", w, err)
	}
	for text, want := range map[string]string{
		`{"limits": {"memory": "lots"}}`: "limits.memory: want a size",
		`{"limits": {"memroy": "1g"}}`:   "limits.memroy: no such limit",
		`{"limit": {}}`:                  "there is no such key",
	} {
		if _, err := ParseWorkspaceFile("/ws/.sbx.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
