package layout

import (
	"strconv"
	"strings"
)

// Propagates says whether what is mounted elsewhere appears among the mounts of a
// mountinfo: one of them is shared, or the slave of one (mount_namespaces(7)).
func Propagates(text string) bool {
	for line := range strings.Lines(text) {
		options, _, _ := strings.Cut(line, " - ")
		if strings.Contains(options, " shared:") || strings.Contains(options, " master:") {
			return true
		}
	}
	return false
}

// Unescape undoes \040 and its like, which paths of mountinfo have.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+4 <= len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
