package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// decoder takes our keys out of the values and keeps the first error.
type decoder struct {
	path string
	text []byte
	err  error
}

func (d *decoder) fail(key string, format string, args ...any) {
	if d.err == nil {
		d.err = &Error{Path: d.path, Key: key, Err: fmt.Errorf(format, args...)}
	}
}

func (d *decoder) config(root object) Config {
	c := Config{Path: d.path, Found: true}
	var scopes map[string]Policy
	d.each("", root, []string{"sandbox", "secrets", "sbx", "slots", "agents", "projects", "policy_scope"}, func(key string, value any) bool {
		switch key {
		case "sandbox":
			c.Sandbox, _ = value.(string) // Pepe takes anything else as none
		case "secrets":
			d.secrets(&c, value)
		case "policy_scope":
			scopes = d.scope(value)
		case "sbx":
			d.sbx(&c, value)
		case "slots":
			c.Slots.All = d.slot("slots", value)
		case "agents":
			c.Slots.Agents = d.owners(&c.Slots, "agents", agentSlots, value)
			c.Agents = d.agents(value)
		case "projects":
			c.Slots.Projects = d.owners(&c.Slots, "projects", projectSlots, value)
		}
		return true // every other key is Pepe's
	})
	scoped(c.Policies, scopes)
	return c
}

// secrets reads three keys of a section that is Pepe's.
func (d *decoder) secrets(c *Config, value any) {
	o, ok := d.object("secrets", value)
	if !ok {
		return
	}
	d.each("secrets.", o, []string{"vault_env", "expose_env", "redact_output"}, func(key string, value any) bool {
		switch key {
		case "vault_env":
			c.VaultEnv = d.names("secrets.vault_env", value)
		case "expose_env":
			c.ExposeEnv = d.names("secrets.expose_env", value)
		case "redact_output":
			on := d.flag("secrets.redact_output", value)
			c.RedactOutput = &on
		}
		return true
	})
}

var sbxKeys = []string{
	"backend", "ssh", "explain_denials", "accept_gaps", "require", "network", "allow_tags", "proxy", "timeout", "allow_write", "allow_read", "hide", "guard", "audit",
	"protect", "unprotect", "protect_strict", "read_only", "temp", "limits", "preview", "container", "helpers", "redact", "wrappers",
	"ask", grantsKey, "policies",
}

func (d *decoder) sbx(c *Config, value any) {
	o, ok := d.object("sbx", value)
	if !ok {
		return
	}
	c.Unknown = d.each("sbx.", o, sbxKeys, func(key string, value any) bool {
		full := "sbx." + key
		switch key {
		case "backend":
			c.Backends = d.order(full, value)
		case "accept_gaps":
			c.AcceptGaps = d.words(full, value)
		case "require":
			c.Require = d.words(full, value)
		case "network":
			c.Network = d.network(full, value)
		case "allow_tags":
			c.AllowTags = d.words(full, value)
		case "proxy":
			c.Proxy = d.file(full, value)
		case "explain_denials":
			c.Explain = d.explain(full, value)
		case "timeout":
			c.Timeout = d.duration(full, value)
		case "allow_write":
			c.AllowWrite = d.paths(full, value)
		case "allow_read":
			c.AllowRead = d.paths(full, value)
		case "hide":
			c.Hide = d.paths(full, value)
		case "limits":
			c.Limits = d.limits(full, value)
		case "guard":
			c.GuardAllow = d.guard(value)
		case "preview":
			d.preview(c, value)
		case "container":
			c.Container = d.container(value)
		case "ssh":
			c.SSH = d.ssh(full, value)
		case "helpers":
			c.Helpers = d.helpers(value)
		case "wrappers":
			c.Wrappers = d.wrappers(value)
		case "audit":
			c.Audit = d.file(full, value)
		case "protect":
			c.Protect = d.inner(full, value)
		case "unprotect":
			c.Unprotect = d.inner(full, value)
		case "protect_strict":
			c.ProtectStrict = d.flag(full, value)
		case "redact":
			c.Redact = d.flag(full, value)
		case "read_only":
			c.ReadOnly = d.flag(full, value)
		case "temp":
			c.Temp = d.temp(full, value)
		case "ask":
			c.Ask = d.flag(full, value)
		case grantsKey:
			c.Grants = d.words(full, value)
		case "policies":
			c.Policies = d.policies(value)
		default:
			return false
		}
		return true
	})
}

// each calls take for every member and returns the full names of those that
// it does not know. One of our keys standing twice is an error: readers
// disagree on which of the two counts.
func (d *decoder) each(prefix string, o object, ours []string, take func(key string, value any) bool) (unknown []string) {
	seen := map[string]bool{}
	for _, m := range o {
		if !take(m.key, m.value) {
			unknown = append(unknown, prefix+m.key)
		}
		for _, key := range ours {
			if m.key != key {
				continue
			}
			if seen[key] && d.err == nil {
				line, col := position(d.text, m.offset)
				d.err = &Error{Path: d.path, Line: line, Col: col, Key: prefix + key, Err: errors.New("stands twice; which one counts is not certain")}
			}
			seen[key] = true
		}
	}
	return unknown
}

// object accepts null as absent, as the other readers below do.
func (d *decoder) object(key string, value any) (object, bool) {
	if value == nil {
		return nil, false
	}
	o, ok := value.(object)
	if !ok {
		d.fail(key, "want an object, have %s", describe(value))
	}
	return o, ok
}

// objects reads a list whose elements take reads, with their keys.
func (d *decoder) objects(key string, value any, take func(key string, value any)) {
	list, ok := value.([]any)
	if value != nil && !ok {
		d.fail(key, "want a list of objects, have %s", describe(value))
	}
	for i, v := range list {
		take(fmt.Sprintf("%s[%d]", key, i), v)
	}
}

func (d *decoder) word(key string, value any) string {
	s, ok := value.(string)
	if value != nil && (!ok || s == "") {
		d.fail(key, "want a word, have %s", describe(value))
	}
	return s
}

// allowPrefix begins a list of hosts; what may stand in it is for netrules to say.
const allowPrefix = "allow:"

func (d *decoder) network(key string, value any) string {
	s, ok := value.(string)
	if value != nil && (!ok || s != "off" && s != "on" && s != "auto" && !strings.HasPrefix(s, allowPrefix)) {
		d.fail(key, `want "off", "on", "auto" or "allow:HOST,…", have %s`, describe(value))
	}
	return s
}

func (d *decoder) temp(key string, value any) string {
	s, ok := value.(string)
	if value != nil && (!ok || s != "run" && s != "keep") {
		d.fail(key, `want "run" or "keep", have %s`, describe(value))
	}
	return s
}

func (d *decoder) explain(key string, value any) string {
	s, ok := value.(string)
	if value != nil && (!ok || s != "off" && s != "writes" && s != "reads") {
		d.fail(key, `want "off", "writes" or "reads", have %s`, describe(value))
	}
	return s
}

func (d *decoder) flag(key string, value any) bool {
	b, ok := value.(bool)
	if value != nil && !ok {
		d.fail(key, "want true or false, have %s", describe(value))
	}
	return b
}

func (d *decoder) duration(key string, value any) *time.Duration {
	if value == nil {
		return nil
	}
	s, ok := value.(string)
	t, err := time.ParseDuration(s)
	if !ok || err != nil || t < 0 {
		d.fail(key, `want a duration like "30s", have %s`, describe(value))
		return nil
	}
	return &t
}

// list calls check for each string of a list. noun is one of them, want what
// each must be.
func (d *decoder) list(key, noun, want string, value any, check func(string) bool, show func(any) string) []string {
	if value == nil {
		return nil
	}
	values, ok := value.([]any)
	if !ok {
		d.fail(key, "want a list of %ss, have %s", noun, show(value))
		return nil
	}
	var out []string
	for i, v := range values {
		s, ok := v.(string)
		if !ok || !check(s) {
			d.fail(fmt.Sprintf("%s[%d]", key, i), "want %s, have %s", want, show(v))
			return nil
		}
		out = append(out, s)
	}
	return out
}

func (d *decoder) words(key string, value any) []string {
	return d.list(key, "word", "a word", value, func(s string) bool { return s != "" }, describe)
}

func (d *decoder) paths(key string, value any) []string {
	return d.list(key, "path", `a path that begins with "/" or "~/"`, value, func(s string) bool {
		return (filepath.IsAbs(s) || s == "~" || strings.HasPrefix(s, "~/")) && strings.IndexByte(s, 0) < 0
	}, describe)
}

// inner reads paths that are relative to the workspace, or absolute.
func (d *decoder) inner(key string, value any) []string {
	return d.list(key, "path", "a path", value, func(s string) bool { return s != "" && strings.IndexByte(s, 0) < 0 }, describe)
}

// file reads the path of one file.
func (d *decoder) file(key string, value any) string {
	if value == nil {
		return ""
	}
	s, ok := value.(string)
	if !ok || !filepath.IsAbs(s) && !strings.HasPrefix(s, "~/") || strings.IndexByte(s, 0) >= 0 || strings.HasSuffix(s, "/") {
		d.fail(key, `want the path of a file that begins with "/" or "~/", have %s`, describe(value))
	}
	return s
}

// names reads names of variables. The message does not repeat a string: whoever
// writes NAME=value here has put a secret there.
func (d *decoder) names(key string, value any) []string {
	return d.list(key, "variable name", "a variable name", value, func(s string) bool {
		return s != "" && !strings.ContainsAny(s, "=\x00 ${}")
	}, kind)
}

// describe shows a value in a message: words and numbers as they are, cut
// when long, the rest by its kind.
func describe(value any) string {
	switch v := value.(type) {
	case string:
		const most = 40
		if len(v) > most {
			return fmt.Sprintf("%q…", strings.ToValidUTF8(v[:most], ""))
		}
		return fmt.Sprintf("%q", v)
	case json.Number:
		if len(v) > 20 {
			return "a number"
		}
		return string(v)
	case bool:
		return fmt.Sprint(v)
	}
	return kind(value)
}

// kind names the type of a value without showing it.
func kind(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "a switch"
	case string:
		if v == "" {
			return "an empty string"
		}
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "a list"
	}
	return "an object"
}
