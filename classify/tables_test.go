package classify

import (
	"sort"
	"strings"
	"testing"
)

// TestTables holds what the engine takes for granted about its tables.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range tables {
		if !sort.SliceIsSorted(table, func(i, j int) bool { return table[i].name < table[j].name }) {
			for i := 1; i < len(table); i++ {
				if table[i-1].name >= table[i].name {
					t.Errorf("%q stands behind %q", table[i].name, table[i-1].name)
				}
			}
		}
		for i := range table {
			p := &table[i]
			if seen[p.name] {
				t.Errorf("%q is listed twice", p.name)
			}
			seen[p.name] = true
			if p.like != "" && lookup(p.name) == nil {
				t.Errorf("%q is like %q, which does not exist", p.name, p.like)
			}
			checkRow(t, p.name, p)
		}
	}
}

func checkRow(t *testing.T, path string, p *program) {
	t.Helper()
	for _, o := range strings.Fields(p.opts) {
		k := strings.IndexAny(o, "=?+#")
		if k < 0 {
			t.Errorf("%s: option %q has no mark", path, o)
			continue
		}
		if rest := strings.Trim(o[k+1:], "<>ox/Tc!@F~*,dwsnb"); rest != "" && o[k:] != "=2" && !strings.Contains("=+?", rest) {
			t.Errorf("%s: option %q has the unknown effect %q", path, o, rest)
		}
	}
	if strings.Trim(strings.ReplaceAll(p.args, "$", ""), "-rlwmdoc") != "" {
		t.Errorf("%s: unknown role in %q", path, p.args)
	}
	for i := range p.subs {
		checkRow(t, path+" "+p.subs[i].name, &p.subs[i])
	}
}

// TestRules holds that every rule says all that a finding needs.
func TestRules(t *testing.T) {
	ids := map[string]bool{}
	for i, r := range rules {
		if i == int(noRule) {
			continue
		}
		if r.id == "" || r.tag == 0 || r.why == "" || ids[r.id] {
			t.Errorf("rule %d: %+v", i, r)
		}
		ids[r.id] = true
	}
}
