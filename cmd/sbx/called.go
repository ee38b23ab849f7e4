package main

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ownName is what this program is called in its own texts.
const ownName = "sbx"

// nameOf is the name by which a program was called, without the end that makes it the
// wrapper: what somebody types. A name that nobody types as it stands is none.
func nameOf(arg string) string {
	name := strings.TrimSuffix(filepath.Base(arg), wrapperEnd)
	if !plainName(name) || name == "." {
		return ownName
	}
	return name
}

// underName puts the name that the program has here in the place of its own, wherever a
// text says what to type: before a subcommand or a flag, and in the name of the wrapper.
// The product, its files and the keys of its configuration are called as ever.
func underName(text, name string) string {
	if name == ownName || name == "" || !strings.Contains(text, ownName) {
		return text
	}
	text = strings.ReplaceAll(text, "/completions/sbx.fish", "/completions/"+name+".fish") // fish goes by it
	var b strings.Builder
	for {
		at := strings.Index(text, ownName)
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		behind := text[at+len(ownName):]
		b.WriteString(text[:at])
		if (at == 0 || unicode.IsSpace(before) || strings.ContainsRune("(`'|", before)) && isTyped(behind) {
			b.WriteString(name)
		} else {
			b.WriteString(ownName)
		}
		text = behind
	}
}

// isTyped says whether what follows the name makes it a command.
func isTyped(behind string) bool {
	if rest, ok := strings.CutPrefix(behind, wrapperEnd); ok {
		return !startsWord(rest)
	}
	rest, ok := strings.CutPrefix(behind, " ")
	if !ok {
		return false
	}
	word := rest[:len(rest)-len(strings.TrimLeftFunc(rest, isWordRune))]
	return strings.HasPrefix(word, "--") || word == "SUBCOMMAND" || word == "help" || slices.Contains(commandNames(), word)
}

func startsWord(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return size > 0 && isWordRune(r)
}

func isWordRune(r rune) bool {
	return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
}
