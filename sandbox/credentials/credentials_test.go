package credentials

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestTablesHaveReasons(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range slices.Concat(Home(), System()) {
		if s.Why == "" || seen[s.Path] || path.Clean(s.Path) != s.Path {
			t.Errorf("row %q: no reason, twice, or not clean", s.Path)
		}
		if strings.ContainsRune(path.Dir(s.Path), '*') {
			t.Errorf("row %q: only the last element may be a pattern", s.Path)
		}
		seen[s.Path] = true
	}
}
