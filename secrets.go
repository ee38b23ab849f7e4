package sbx

import (
	"strings"

	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/secretsenv"
)

// InClear is a credential that stands in the configuration itself, where a
// reference (${NAME}, exec:COMMAND, file:PATH) should.
type InClear struct {
	Path   string `json:"path"`   // of the setting, e.g. "mcp.github.env.TOKEN"
	Masked string `json:"masked"` // enough to recognise it
	Why    string `json:"why"`
}

// SettingsInClear finds the credentials among the settings of a configuration.
// What a login keeps fresh by itself (below "oauth") is left alone.
func SettingsInClear(settings []config.Setting) []InClear {
	var list []InClear
	for _, s := range settings {
		if keepsItself(s.Path) {
			continue
		}
		key := s.Key
		if option, ok := strings.CutPrefix(s.After, "--"); ok { // ["--api-key", "…"]
			key = option
		}
		if why := secretsenv.InClear(key, s.Value); why != "" {
			list = append(list, InClear{s.Path, secretsenv.Mask(s.Value), why})
		}
	}
	return list
}

// keepsItself reports settings that no person writes: a login's own tokens, and the
// hash of what an origin of settings is known by.
func keepsItself(path string) bool {
	return path == "origin.key" || strings.HasPrefix(path, "oauth.") || strings.Contains(path, ".oauth.")
}
