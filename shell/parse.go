package shell

import (
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds. A text past one of them is not read further; it is then listed in
// Script.Unknown, so that no bound ever makes a text look harmless.
const (
	maxText    = 3 << 19 // bytes of one text
	maxOpeners = 50_000  // brackets and keywords that open something; the parser recurses on them, at most 7 kB of stack each
	maxOpen    = 1_000   // of them open at once, counted naively
	maxDepth   = 16      // texts inside texts: sh -c "sh -c …"
	maxNodes   = 1_000   // nested commands of one text that are followed
	maxCalls   = 100_000 // calls of one script
	maxFields  = 1 << 18 // fields of one script that come from lists and splitting
	maxResume  = 20      // syntax errors after which reading goes on at the next line
)

// parsers are reused: a new one costs as much as parsing a short command.
var parsers [5]sync.Pool

func variant(d Dialect) syntax.LangVariant {
	switch d {
	case POSIX:
		return syntax.LangPOSIX
	case Mksh:
		return syntax.LangMirBSDKorn
	case Zsh:
		return syntax.LangZsh
	}
	return syntax.LangBash
}

// parseOnce parses a whole text. On an error it returns the completed
// top-level statements before it. hashed says that words hold hashByte.
func parseOnce(text string, d Dialect) (stmts []*syntax.Stmt, hashed bool, err error) {
	if hashes := wordHashes(text); len(hashes) > 0 {
		return parseHashed(text, d, hashes)
	}
	p, _ := parsers[d].Get().(*syntax.Parser)
	if p == nil {
		p = syntax.NewParser(syntax.Variant(variant(d)))
	}
	f, err := parseWith(p, text)
	parsers[d].Put(p)
	if f == nil {
		return nil, false, err
	}
	return f.Stmts, false, err
}

// parseWith runs the parser. A panic in it becomes a syntax error at the
// beginning: the text counts as not read.
func parseWith(p *syntax.Parser, text string) (f *syntax.File, err error) {
	defer func() {
		if recover() != nil {
			f, err = nil, &textError{0, "the parser gave up on it"}
		}
	}()
	return p.Parse(strings.NewReader(text), "")
}

// parseWord parses a text as the inside of double quotes.
func parseWord(text string, d Dialect) (w *syntax.Word, err error) {
	defer func() {
		if recover() != nil {
			w, err = nil, &textError{0, "the parser gave up on it"}
		}
	}()
	return syntax.NewParser(syntax.Variant(variant(d))).Document(strings.NewReader(text))
}

// piece is a part of a text that was parsed by itself.
type piece struct {
	stmts  []*syntax.Stmt
	at     mapping // offsets of the piece in the text
	hashed bool
}

// parseText parses a text, going on after errors. The error is the first one,
// with an offset in the text.
func parseText(text string, d Dialect) ([]piece, *textError) {
	stmts, hashed, err := parseOnce(text, d)
	if err == nil {
		return []piece{{stmts: stmts, hashed: hashed}}, nil
	}
	if p, ok := parseRewritten(text, d, err); ok {
		return []piece{p}, nil
	}
	first := asTextError(err)
	if !utf8.ValidString(text) { // shells take the bytes as they are
		pieces, _ := parseText(withoutInvalid(text), d)
		return pieces, first
	}
	var pieces []piece
	start := 0
	for range maxResume {
		rest := text[start:]
		stmts, hashed, err = parseOnce(rest, d)
		if err == nil {
			pieces = append(pieces, piece{stmts, shift(start), hashed})
			break
		}
		pieces = append(pieces, piece{recovered(rest, d, stmts), shift(start), false})
		next := strings.IndexByte(rest[min(asTextError(err).offset, len(rest)):], '\n')
		if next < 0 {
			break
		}
		start += asTextError(err).offset + next + 1
	}
	return pieces, first
}

// withoutInvalid puts a control character in the place of each byte that is no
// UTF-8: every offset stays, and no name becomes that of a program.
func withoutInvalid(text string) string {
	b := []byte(text)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			b[i] = 0x1a
		}
		i += n
	}
	return string(b)
}

// recovered parses once more with the parser's error recovery, which supplies
// missing closers, and returns the longer reading.
func recovered(text string, d Dialect, have []*syntax.Stmt) []*syntax.Stmt {
	p := syntax.NewParser(syntax.Variant(variant(d)), syntax.RecoverErrors(50))
	f, _ := parseWith(p, text)
	if f != nil && len(f.Stmts) > len(have) {
		return f.Stmts
	}
	return have
}

// textError is a syntax error at an offset of the text that was parsed.
type textError struct {
	offset int
	msg    string
}

func (e *textError) Error() string { return e.msg }

func asTextError(err error) *textError {
	var te *textError
	if errors.As(err, &te) {
		return te
	}
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		return &textError{int(pe.Pos.Offset()), pe.Text}
	}
	var le syntax.LangError
	if errors.As(err, &le) {
		return &textError{int(le.Pos.Offset()), le.Feature + " is not known to this shell"}
	}
	return &textError{0, err.Error()}
}

// parseRewritten retries the forms that bash accepts and the parser rejects:
// $((foo); (bar)) and ((foo); (bar)) are nested subshells, and ${x[a b]} has
// blanks in a subscript. Each error is answered by one edit before it.
func parseRewritten(text string, d Dialect, err error) (piece, bool) {
	var inserted []int // offsets in the edited text
	for range 8 {
		at := min(asTextError(err).offset, len(text))
		if i := strings.LastIndex(text[:min(at+3, len(text))], "(("); i >= 0 {
			text = text[:i+1] + " " + text[i+1:]
			inserted = append(inserted, i+1)
		} else if i := blankInSubscript(text, at); i >= 0 {
			text = text[:i] + "_" + text[i+1:]
		} else {
			return piece{}, false
		}
		var p piece
		if p.stmts, p.hashed, err = parseOnce(text, d); err == nil {
			p.at = without(inserted)
			return p, true
		}
	}
	return piece{}, false
}

// blankInSubscript finds the first blank between "${name[" and "]" around at.
func blankInSubscript(text string, at int) int {
	open := strings.LastIndex(text[:at], "${")
	if open < 0 {
		return -1
	}
	bracket := strings.IndexByte(text[open:], '[')
	if bracket < 0 || strings.ContainsAny(text[open+2:open+bracket], " }\n") {
		return -1
	}
	for i := open + bracket; i < len(text) && text[i] != ']' && text[i] != '}'; i++ {
		if text[i] == ' ' || text[i] == '\t' {
			return i
		}
	}
	return -1
}

// tooDeep reports whether a text could overflow the stack of a recursive
// parser, which Go cannot recover from. It may overcount: what stands in
// quotes and comments counts too.
func tooDeep(text string) bool {
	openers, open := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(', '{', '[':
			openers++
			open++
		case ')', '}', ']':
			open = max(0, open-1)
		case '`', '?', '!':
			openers++
		case 'i', 'w', 'u', 'f', 'c', 's', 't', 'd', 'e':
			if (i == 0 || !isWordByte(text[i-1])) && opensCompound(text[i:]) {
				openers++
			}
		}
		if openers > maxOpeners || open > maxOpen {
			return true
		}
	}
	return false
}

func isWordByte(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c == '/' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func opensCompound(s string) bool {
	for _, k := range [...]string{"if", "while", "until", "for", "function", "case", "select", "coproc", "time", "then", "do", "else", "elif"} {
		if strings.HasPrefix(s, k) && (len(s) == len(k) || !isWordByte(s[len(k)])) {
			return true
		}
	}
	return false
}
