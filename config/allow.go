package config

// Allow is an entry of sbx.guard.allow: an object that a rule of guard spares.
// Whether the entry makes sense is for guard to say.
type Allow struct {
	Rule   string   `json:"rule"`
	Path   string   `json:"path,omitempty"` // Load has put the home directory in place of "~"
	Argv   []string `json:"argv,omitempty"`
	Reason string   `json:"reason"`
}

var (
	guardKeys = []string{"allow"}
	allowKeys = []string{"rule", "path", "argv", "reason"}
)

// guard reads the section sbx.guard. A key that is not known is an error here:
// a misspelt "path" would make the entry mean something else.
func (d *decoder) guard(value any) []Allow {
	o, ok := d.object("sbx.guard", value)
	if !ok {
		return nil
	}
	var out []Allow
	d.known("sbx.guard.", o, guardKeys, func(_ string, value any) {
		d.objects("sbx.guard.allow", value, func(key string, v any) { out = append(out, d.allow(key, v)) })
	})
	return out
}

func (d *decoder) allow(key string, value any) Allow {
	o, ok := value.(object)
	if !ok {
		d.fail(key, "want an object, have %s", describe(value))
		return Allow{}
	}
	var a Allow
	d.known(key+".", o, allowKeys, func(name string, value any) {
		full := key + "." + name
		switch name {
		case "rule":
			a.Rule = d.word(full, value)
		case "path":
			if paths := d.paths(full, []any{value}); len(paths) > 0 {
				a.Path = paths[0]
			}
		case "argv":
			a.Argv = d.list(full, "word", "a word", value, func(string) bool { return true }, describe)
		case "reason":
			a.Reason = d.word(full, value)
		}
	})
	switch {
	case d.err != nil:
	case a.Rule == "":
		d.fail(key, `"rule" is missing`)
	case a.Reason == "":
		d.fail(key, `"reason" is missing: say why this is no harm`)
	case a.Path == "" && len(a.Argv) == 0:
		d.fail(key, `it would allow everything: name a "path" or an "argv"`)
	case a.Path != "" && len(a.Argv) > 0:
		d.fail(key, `"path" and "argv": want one of them`)
	}
	return a
}

// known calls take for each member; any other key is an error.
func (d *decoder) known(prefix string, o object, keys []string, take func(key string, value any)) {
	unknown := d.each(prefix, o, keys, func(key string, value any) bool {
		for _, k := range keys {
			if k == key {
				take(key, value)
				return true
			}
		}
		return false
	})
	if len(unknown) > 0 {
		d.fail(unknown[0], "there is no such key")
	}
}
