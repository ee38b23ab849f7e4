// Package wrappers holds the ready-made scripts that an agent runtime calls
// for every command, and installs them.
package wrappers

import (
	_ "embed" // for the scripts
	"fmt"
	"path/filepath"
	"strings"
)

//go:embed direct.sh
var direct string

// Kinds lists the scripts, sorted.
func Kinds() []string { return []string{"direct"} }

// placeholder stands in a script, with its quotes, for the quoted path of sbx.
const placeholder = "'@SBX@'"

// Script is the text of a wrapper that calls the sbx at an absolute path.
func Script(kind, sbxPath string) (string, error) {
	var text string
	switch kind {
	case "direct":
		text = direct
	default:
		return "", unknownKind(kind)
	}
	switch {
	case !filepath.IsAbs(sbxPath):
		return "", fmt.Errorf("wrapper %q: path of sbx %q: want an absolute path", kind, sbxPath)
	case strings.ContainsAny(sbxPath, "\n\x00"):
		return "", fmt.Errorf("wrapper %q: path of sbx %q: holds a line break or a zero byte", kind, sbxPath)
	}
	return strings.Replace(text, placeholder, quote(sbxPath), 1), nil
}

// quote makes one word of a POSIX shell out of any bytes: inside single quotes
// nothing is special but the single quote.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// unknownKind lists the kinds and names one that is at most two slips away.
func unknownKind(kind string) error {
	hint := ""
	for _, k := range Kinds() {
		if distance(strings.ToLower(kind), k) <= 2 {
			hint = fmt.Sprintf(", did you mean %q?", k)
		}
	}
	return fmt.Errorf("wrapper %q: unknown kind%s (kinds: %s)", kind, hint, strings.Join(Kinds(), ", "))
}

// distance is the number of bytes to insert, delete or change between a and b
// (Levenshtein). Long words are far from everything.
func distance(a, b string) int {
	if len(a) > 32 {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left, diagonal := i+1, i
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j] = left
			left = min(change, diagonal+1, left+1)
		}
		row[len(b)] = left
	}
	return row[len(b)]
}
