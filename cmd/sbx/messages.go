package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/words"
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
	fmt.Fprintf(s.err, "sbx: %s: %s\n", kind, visible(oneLine(s.named(text))))
}

// named is a text of ours in which commands begin with the name that works here.
func (s *streams) named(text string) string { return underName(text, s.name) }

// help prints one of the texts of --help.
func (s *streams) help(text string) { fmt.Fprint(s.out, s.named(text)) }

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

// meant is the hint about a word that is none of those known: the one that was
// probably meant, with what is typed before it; else another hint.
func meant(word string, known []string, before, otherwise string) string {
	if near := words.Nearest(word, known); near != "" {
		return "did you mean " + before + visible(near) + "?"
	}
	return otherwise
}

// unknownAction is the error about the first word behind a subcommand, where
// that has several actions. The empty word is none.
func unknownAction(subcommand, word, otherwise string) error {
	if word == "" {
		return usage("no action", otherwise)
	}
	return usage("unknown action "+quote(word), meant(word, actions(subcommand), "sbx "+subcommand+" ", otherwise))
}
