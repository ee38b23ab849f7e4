package config

import (
	"slices"
	"strings"
)

// runtimeKeys are the names at the top of the file that the runtime reads, as far
// as its documentation names them.
var runtimeKeys = []string{
	"agents", "api_tokens", "channels", "crons", "dashboard", "hooks", "http_route_plugins", "mcp", "models", "plugins", "policy_scope",
	"projects", "review_writes", "sandbox", "secrets", "server", "slots",
}

// SharedKeys lists the names at the top of the file that somebody is known to
// read, sorted: "sbx" and those of the runtime.
func SharedKeys() []string {
	keys := append(slices.Clone(runtimeKeys), "sbx")
	slices.Sort(keys)
	return keys
}

// OwnKeys lists the keys below "sbx", with that prefix.
func OwnKeys() []string {
	var keys []string
	for _, name := range sbxKeys {
		keys = append(keys, "sbx."+name)
	}
	return keys
}

// ReadKeys gives the names at the top of a file, in its order.
func ReadKeys(path string) ([]string, error) {
	data, err := readRegular(path)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	_, root, _, err := parseObject(path, data)
	if err != nil {
		return nil, err
	}
	return keysOf(root), nil
}

// ReferencesIn lists the names of every ${NAME} in a text.
func ReferencesIn(text string) []string {
	if !strings.Contains(text, "${") {
		return nil
	}
	return appendReferences(nil, text)
}
