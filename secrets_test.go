package sbx_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
)

func TestSettingsInClear(t *testing.T) {
	settings, err := config.Settings("/c.json", []byte(`{
  "models": {"main": {"api_key": "sk-a1B2c3D4e5F6g7H8i9J0kLmN", "model": "anthropic/claude-3.5-sonnet-20241022"}},
  "mcp": {"github": {"command": "npx", "args": ["-y", "server", "--api-key", "hunter2hunter2", "--dir", "/srv/data"], "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "OTHER_TOKEN": "short"}}},
  "origin": {"key": "0123456789abcdef"},
  "providers": {"x": {"oauth": {"access_token": "kept-fresh-by-the-login"}}},
  "telegram": {"bot_token": "exec:op read op://bot"}
}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range sbx.SettingsInClear(settings) {
		if s.Why == "" {
			t.Errorf("%s: no reason", s.Path)
		}
		got[s.Path] = s.Masked
	}
	want := map[string]string{
		"models.main.api_key":        "sk-a************kLmN",
		"mcp.github.args[3]":         "hunt******ter2",
		"mcp.github.env.OTHER_TOKEN": "*****",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
