package config

import (
	"fmt"
	"slices"
)

// Slots says who gets which backends: slots.sandbox of an agent, default_slots
// .sandbox of a project, slots.sandbox for all, as Pepe's slots are looked up. A
// list is an order. nil is what the file does not say, "default" among it.
type Slots struct {
	Agents   map[string][]string `json:"agents,omitempty"`
	Projects map[string][]string `json:"projects,omitempty"`
	All      []string            `json:"all,omitempty"`
	// Misplaced are keys that are read under another name: as they stand, and that name.
	Misplaced [][2]string `json:"misplaced,omitempty"`
}

// For gives the backends of a caller and the key that names them. An agent's own
// come before those of its project, these before those of all, and these before
// sbx.backend. Without any it is nil. It is pure.
func (c *Config) For(agent, project string) (backends []string, key string) {
	for _, at := range [...]struct {
		backends []string
		key      string
	}{
		{c.Slots.Agents[agent], "agents." + agent + ".slots.sandbox"},
		{c.Slots.Projects[project], "projects." + project + ".default_slots.sandbox"},
		{c.Slots.All, "slots.sandbox"},
		{c.Backends, "sbx.backend"},
	} {
		if len(at.backends) > 0 {
			return at.backends, at.key
		}
	}
	return nil, ""
}

// Names of the section with the slots: of an agent, and of a project.
const agentSlots, projectSlots = "slots", "default_slots"

// owners reads agents or projects: of each the slot in the section of that name.
// All else in there is Pepe's, and so is its form: what is no object says nothing.
func (d *decoder) owners(s *Slots, key, section string, value any) map[string][]string {
	owners, _ := value.(object)
	var out map[string][]string
	d.each(key+".", owners, keysOf(owners), func(name string, value any) bool {
		full := key + "." + name
		owner, _ := value.(object)
		d.each(full+".", owner, []string{section}, func(inner string, value any) bool {
			if inner != section {
				if slots, ok := value.(object); ok && (inner == agentSlots || inner == projectSlots) && slices.Contains(keysOf(slots), "sandbox") {
					s.Misplaced = append(s.Misplaced, [2]string{full + "." + inner + ".sandbox", full + "." + section + ".sandbox"})
				}
				return true
			}
			if order := d.slot(full+"."+section, value); order != nil {
				if out == nil {
					out = map[string][]string{}
				}
				out[name] = order
			}
			return true
		})
		return true
	})
	return out
}

func keysOf(o object) []string {
	var keys []string
	for _, m := range o {
		keys = append(keys, m.key)
	}
	return keys
}

// slot reads the backends of one section of slots.
func (d *decoder) slot(key string, value any) (order []string) {
	slots, _ := value.(object)
	d.each(key+".", slots, []string{"sandbox"}, func(name string, value any) bool {
		if name == "sandbox" && value != "default" {
			order = d.order(key+".sandbox", value)
		}
		return true
	})
	return order
}

// order reads the name of a backend or a list of names.
func (d *decoder) order(key string, value any) []string {
	list, ok := value.([]any)
	if !ok {
		if word := d.word(key, value); word != "" {
			return []string{word}
		}
		return nil
	}
	if len(list) == 0 {
		d.fail(key, "the list is empty: no backend could be used")
	}
	names := d.words(key, value)
	for i, name := range names {
		if name == "auto" {
			d.fail(fmt.Sprintf("%s[%d]", key, i), `"auto" stands alone: an order says itself what comes first`)
		}
	}
	return names
}
