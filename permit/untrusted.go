package permit

import (
	"strings"
	"unicode/utf8"
)

// Content from outside is cleaned before a model reads it: first what nobody
// sees, then what a model would take for the turns of a conversation, until
// nothing changes. In the other order an invisible character inside a token
// would hide it.

// Clean takes invisible characters and control tokens out of a text.
func Clean(text string) string {
	for {
		cleaned := withoutTokens(withoutInvisible(text))
		if cleaned == text {
			return text
		}
		text = cleaned
	}
}

// invisible ranges, inclusive.
var invisible = [...][2]rune{
	{0x00AD, 0x00AD},   // soft hyphen
	{0x034F, 0x034F},   // combining grapheme joiner
	{0x061C, 0x061C},   // Arabic letter mark
	{0x180B, 0x180F},   // Mongolian variation selectors and vowel separator
	{0x200B, 0x200F},   // zero width space and joiners, direction marks
	{0x202A, 0x202E},   // direction overrides
	{0x2060, 0x2064},   // word joiner, invisible operators
	{0x2066, 0x2069},   // direction isolates
	{0xFEFF, 0xFEFF},   // byte order mark
	{0xE0000, 0xE007F}, // tags: a second, invisible alphabet
	{0xE0100, 0xE01EF}, // variation selectors that carry hidden bytes
}

func isInvisible(r rune) bool {
	for _, span := range invisible {
		if span[0] <= r && r <= span[1] {
			return true
		}
	}
	return false
}

// isSelector is one that changes how the character before it looks. One is
// ordinary (an emoji); more in a row, or none to look different, hide bytes.
func isSelector(r rune) bool { return 0xFE00 <= r && r <= 0xFE0F }

func withoutInvisible(text string) string {
	var b strings.Builder
	before := rune(' ')
	for i, r := range text {
		drop := isInvisible(r) || isSelector(r) && (isSelector(before) || before < 0x80 && !strings.ContainsRune("0123456789#*", before))
		if drop {
			if b.Len() == 0 {
				b.Grow(len(text))
				b.WriteString(text[:i])
			}
		} else if b.Cap() > 0 {
			size := utf8.RuneLen(r)
			if r == utf8.RuneError {
				_, size = utf8.DecodeRuneInString(text[i:]) // invalid bytes stay as they are
			}
			b.WriteString(text[i : i+size])
		}
		if !isInvisible(r) {
			before = r
		}
	}
	if b.Cap() == 0 {
		return text
	}
	return b.String()
}

// tokens that models of several families take for the borders of turns. They
// are compared without regard to case.
var tokens = [...]string{"[inst]", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>", "</start_of_turn>", "<end_of_turn>", "</end_of_turn>"}

func withoutTokens(text string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '<' && text[i] != '[' {
			continue
		}
		if n := tokenAt(text[i:]); n > 0 {
			b.WriteString(text[done:i])
			b.WriteByte(' ')
			i += n - 1
			done = i + 1
		}
	}
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// tokenAt is the length of the token that a text begins with, or 0.
func tokenAt(text string) int {
	for _, t := range tokens {
		if len(text) >= len(t) && strings.EqualFold(text[:len(t)], t) {
			return len(t)
		}
	}
	if !strings.HasPrefix(text, "<|") {
		return 0
	}
	for i := 2; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z':
		case c == '|' && i > 2 && i+1 < len(text) && text[i+1] == '>':
			return i + 2
		default:
			return 0
		}
	}
	return 0
}

const (
	beginUntrusted = "BEGIN UNTRUSTED EXTERNAL CONTENT"
	endUntrusted   = "END UNTRUSTED EXTERNAL CONTENT"
)

// Untrusted is the one way for content from outside into a run: it cleans a text
// and wraps it in lines that name its source. Whoever calls it marks the run as
// tainted.
func Untrusted(source, text string) string {
	source = strings.Join(strings.Fields(Clean(source)), " ")
	text = Clean(text)
	for _, line := range [...]string{beginUntrusted, endUntrusted} { // it must not end the frame itself
		text = replaceFold(text, line, strings.ReplaceAll(line, "EXTERNAL", "(quoted) EXTERNAL"))
	}
	return "----- " + beginUntrusted + " (" + source + ") -----\n" + text + "\n----- " + endUntrusted + " -----"
}

// replaceFold replaces an ASCII text whatever its case.
func replaceFold(text, old, with string) string {
	var b strings.Builder
	done := 0
	for i := 0; i+len(old) <= len(text); i++ {
		if strings.EqualFold(text[i:i+len(old)], old) {
			b.WriteString(text[done:i])
			b.WriteString(with)
			i += len(old) - 1
			done = i + 1
		}
	}
	return b.String() + text[done:]
}
