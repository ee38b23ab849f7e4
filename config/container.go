package config

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// Container is sbx.container: how container backends make containers. A zero is
// what the file does not say.
type Container struct {
	Image   string  `json:"image,omitempty"`
	CPUs    float64 `json:"cpus,omitempty"`
	Runtime string  `json:"runtime,omitempty"` // an OCI runtime, by the engine's name for it
	Host    string  `json:"host,omitempty"`
	Local   bool    `json:"local,omitempty"`
	Options string  `json:"options,omitempty"`
	NoPull  bool    `json:"no_pull,omitempty"`
}

// Helper is one entry of sbx.helpers: the program of a backend.
type Helper struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func (d *decoder) container(value any) Container {
	var c Container
	o, ok := d.object("sbx.container", value)
	if !ok {
		return c
	}
	keys := []string{"image", "cpus", "runtime", "host", "local", "options", "pull"}
	unknown := d.each("sbx.container.", o, keys, func(key string, value any) bool {
		full := "sbx.container." + key
		switch key {
		case "image":
			c.Image = d.word(full, value)
		case "cpus":
			c.CPUs = d.processors(full, value)
		case "runtime":
			c.Runtime = d.word(full, value)
		case "host":
			c.Host = d.word(full, value)
		case "local":
			if c.Local, ok = value.(bool); !ok && value != nil {
				d.fail(full, "want true or false, have %s", describe(value))
			}
		case "options":
			c.Options = d.word(full, value)
		case "pull":
			switch value {
			case nil, "missing":
			case "never":
				c.NoPull = true
			default:
				d.fail(full, `want "missing" or "never", have %s`, describe(value))
			}
		default:
			return false
		}
		return true
	})
	if len(unknown) > 0 {
		// Elsewhere a key that nobody knows is a remark of doctor's. Here it may
		// have been an option that confines.
		d.fail(unknown[0], "there is no such key: %s", strings.Join(keys, ", "))
	}
	return c
}

// processors reads a number of processors, which may be a fraction.
func (d *decoder) processors(key string, value any) float64 {
	if value == nil {
		return 0
	}
	n, err := Processors(fmt.Sprint(value))
	if err != nil {
		d.fail(key, "%v, have %s", err, describe(value))
	}
	return n
}

// Processors reads a number such as 2 or 0.5.
func Processors(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0.01 || n > 1<<16 {
		return 0, fmt.Errorf("want a number of processors like 2 or 0.5")
	}
	return n, nil
}

// helpers reads the programs of backends, which are named one by one: a name
// alone is looked for beside sbx.
func (d *decoder) helpers(value any) []Helper {
	o, ok := d.object("sbx.helpers", value)
	if !ok {
		return nil
	}
	var list []Helper
	for _, m := range o {
		path, ok := m.value.(string)
		if !ok || !filepath.IsAbs(path) || strings.IndexByte(path, 0) >= 0 {
			d.fail("sbx.helpers."+m.key, "want the absolute path of a program, have %s", describe(m.value))
			return nil
		}
		for _, have := range list {
			if have.Name == m.key {
				d.fail("sbx.helpers."+m.key, "stands twice; which one counts is not certain")
			}
		}
		list = append(list, Helper{m.key, path})
	}
	return list
}
