package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The parser takes a # right behind a quoted or expanded part for the start of
// a comment when the word stands in a subshell, a substitution or a case:
// ( ""#a; rm -rf x
// ) then hides the rm, which every shell runs. Such a # is handed to the parser
// as hashByte and put back into the words.
const hashByte = 0x1a

// wordHashes lists the offsets of each # that continues a word.
func wordHashes(text string) []int {
	var out []int
	for i := 0; ; i++ {
		k := strings.IndexByte(text[i:], '#')
		if k < 0 {
			return out
		}
		i += k
		if i == 0 {
			continue
		}
		switch c := text[i-1]; {
		case c == '\'' || c == '"' || c == '`' || c == ')' || c == '}' || c == ']':
			out = append(out, i)
		case isNameByte(c) || strings.IndexByte("@*?$!-", c) >= 0:
			j := i - 1
			for j > 0 && isNameByte(text[j]) {
				j--
			}
			if text[j] == '$' || j > 0 && text[j-1] == '$' {
				out = append(out, i)
			}
		}
	}
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// parseHashed parses a text that has candidates. A reading in which one of them
// begins a comment is wrong, and so is one that fails because of it.
func parseHashed(text string, d Dialect, hashes []int) (stmts []*syntax.Stmt, hashed bool, err error) {
	if strings.IndexByte(text, hashByte) >= 0 {
		return nil, false, &textError{strings.IndexByte(text, hashByte), "a control byte beside a # in a word"}
	}
	wrong := hashes
	f, err := parseWith(syntax.NewParser(syntax.Variant(variant(d)), syntax.KeepComments(true)), text)
	if err == nil {
		if wrong = commentsAt(f, hashes); len(wrong) == 0 {
			return f.Stmts, false, nil
		}
	}
	// Each round may uncover more of them.
	b := []byte(text)
	for {
		for _, i := range wrong {
			b[i] = hashByte
		}
		g, err2 := parseWith(syntax.NewParser(syntax.Variant(variant(d)), syntax.KeepComments(true)), string(b))
		if err2 != nil {
			if f == nil {
				return nil, false, err2
			}
			return f.Stmts, false, cmpErr(err, err2)
		}
		if wrong = commentsAt(g, hashes); len(wrong) == 0 {
			return g.Stmts, true, nil
		}
	}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// commentsAt lists the candidates at which a comment begins.
func commentsAt(f *syntax.File, hashes []int) []int {
	var out []int
	syntax.Walk(f, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			off := int(c.Hash.Offset())
			for _, h := range hashes {
				if h == off {
					out = append(out, h)
				}
			}
		}
		return true
	})
	return out
}

// unhash puts the # back.
func unhash(s string) string { return strings.ReplaceAll(s, string(rune(hashByte)), "#") }
