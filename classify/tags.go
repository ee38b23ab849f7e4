// Package classify says what is risky about a command, as tags and findings.
package classify

import (
	"math/bits"
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// Tags is a set of risk tags.
type Tags uint16

// The tags, in the order of their names, so that a set prints sorted.
const (
	Background Tags = 1 << iota
	ChangesConfig
	Deletes
	DownloadExec
	Elevated
	InlineEval
	Network
	ReadsOutside
	Secrets
	UnknownTag
	WritesFile
	WritesOutside
)

var names = [...]string{
	"background", "changes_config", "deletes", "download_exec", "elevated", "inline_eval",
	"network", "reads_outside", "secrets", "unknown", "writes_file", "writes_outside",
}

// Names lists the wire names, sorted. The result is never nil.
func (t Tags) Names() []string {
	out := make([]string, 0, bits.OnesCount16(uint16(t)))
	for i, n := range names {
		if t&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

// String joins the names with commas; no tag prints as "none".
func (t Tags) String() string {
	if t == 0 {
		return "none"
	}
	return strings.Join(t.Names(), ",")
}

// Parse finds the tag of a wire name.
func Parse(name string) (Tags, bool) {
	for i, n := range names {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// All lists every tag, in the order of the names.
func All() []Tags {
	all := make([]Tags, len(names))
	for i := range names {
		all[i] = 1 << i
	}
	return all
}

// Finding is one reason for one tag.
type Finding struct {
	Tag   Tags // exactly one
	Rule  string
	Call  int // index in Script.Calls; -1: the text itself
	Span  shell.Span
	Words string // the words that matter, resolved
	Why   string
}
