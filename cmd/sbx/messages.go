package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// hintedError is an error with one sentence on what to do about it.
type hintedError struct {
	msg, hint string
}

func (e *hintedError) Error() string { return e.msg }

// usage makes the error of a call that makes no sense.
func usage(msg, hint string) error { return &hintedError{msg: msg, hint: hint} }

// fail prints an error and its hint.
func (s *streams) fail(err error) {
	s.say("error", err.Error())
	var hinted *hintedError
	if errors.As(err, &hinted) && hinted.hint != "" {
		s.say("hint", hinted.hint)
	}
}

// say prints one line of our own on standard error.
func (s *streams) say(kind, text string) {
	fmt.Fprintf(s.err, "sbx: %s: %s\n", kind, visible(oneLine(text)))
}

// oneLine makes one line of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// writeJSON writes one object on one line: easy to read for programs, and jq
// makes it so for people.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // commands are full of < and &
	return enc.Encode(v)
}

// quote makes a word of the caller visible, whatever it holds.
func quote(word string) string { return strconv.Quote(word) }

// nearest finds the name that was probably meant, or "".
func nearest(word string, names []string) string {
	best, distance := "", 1+max(1, len(word)/3)
	for _, name := range names {
		if d := edits(word, name); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// edits is the number of letters to insert, remove, replace, or swap with the
// next (optimal string alignment).
func edits(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b) // no name is that long
	}
	var rows [3][65]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, last, before := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
