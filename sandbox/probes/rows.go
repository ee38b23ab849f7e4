package probes

import (
	"strconv"
	"strings"
)

// Rows lists every probe, in order of the groups.
func Rows() []Row {
	var all []Row
	for _, list := range [][]Row{fileRows(), secretRows(), trustRows(), processRows(), callRows(), lifeRows(), limitRows(), networkRows(), ruleRows()} {
		all = append(all, list...)
	}
	return all
}

// means says whether a name that a user gave means the row of an identifier:
// P09 means P09a and P09b too.
func means(given, id string) bool {
	return strings.EqualFold(given, id) || strings.EqualFold(given, strings.TrimRight(id, "abcdefghijklmnopqrstuvwxyz"))
}

// Known reports whether a name means any row.
func Known(given string) bool {
	for _, row := range Rows() {
		if means(given, row.ID) {
			return true
		}
	}
	return false
}

// quoted shows a name as a sentence can hold it.
func quoted(name string) string { return strconv.QuoteToASCII(name) }
