package config

import (
	"path/filepath"
	"strings"
)

// Wrapper is one entry of sbx.wrappers: what the owner of an executable says
// that it holds.
type Wrapper struct {
	Path   string   `json:"path"`
	Claims []string `json:"claims,omitempty"` // controls
	Apart  bool     `json:"apart,omitempty"`  // a command sees an image or another machine
	User   bool     `json:"user,omitempty"`   // it heeds PEPE_SANDBOX_USER
}

// wrappers reads what is claimed of executables that sbx did not write. A key
// that nobody knows may have been meant to take a claim back.
func (d *decoder) wrappers(value any) []Wrapper {
	o, ok := d.object("sbx.wrappers", value)
	if !ok {
		return nil
	}
	var list []Wrapper
	for _, m := range o {
		full := "sbx.wrappers." + m.key
		if !filepath.IsAbs(m.key) || strings.IndexByte(m.key, 0) >= 0 {
			d.fail(full, "want the absolute path of a wrapper as the key")
			return nil
		}
		for _, have := range list {
			if have.Path == m.key {
				d.fail(full, "stands twice; which one counts is not certain")
			}
		}
		list = append(list, d.wrapper(full, m.key, m.value))
	}
	return list
}

func (d *decoder) wrapper(full, path string, value any) Wrapper {
	w := Wrapper{Path: path}
	o, ok := d.object(full, value)
	if !ok {
		return w
	}
	keys := []string{"claims", "apart", "user"}
	unknown := d.each(full+".", o, keys, func(key string, value any) bool {
		switch key {
		case "claims":
			w.Claims = d.words(full+".claims", value)
		case "apart":
			w.Apart = d.flag(full+".apart", value)
		case "user":
			w.User = d.flag(full+".user", value)
		default:
			return false
		}
		return true
	})
	if len(unknown) > 0 {
		d.fail(unknown[0], "there is no such key: %s", strings.Join(keys, ", "))
	}
	return w
}
