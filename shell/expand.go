package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraces bounds the words that one brace expansion makes. Past it the last
// word is marked as not literal.
const maxBraces = 256

// braces lists the alternatives of a word's brace expansion, as lists of parts.
func (w *walker) braces(word *syntax.Word) [][]syntax.WordPart {
	if w.dialect == POSIX {
		return [][]syntax.WordPart{word.Parts}
	}
	// A copy: the word may be walked again, and the places of split braces
	// are lost.
	split := syntax.Word{Parts: word.Parts}
	syntax.SplitBraces(&split)
	return expandBraces(split.Parts)
}

func expandBraces(parts []syntax.WordPart) [][]syntax.WordPart {
	for i, p := range parts {
		br, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		var out [][]syntax.WordPart
		for _, middle := range braceElems(br) {
			for _, tail := range expandBraces(parts[i+1:]) {
				if len(out) >= maxBraces {
					return out
				}
				one := make([]syntax.WordPart, 0, i+len(middle)+len(tail))
				one = append(append(append(one, parts[:i]...), middle...), tail...)
				out = append(out, one)
			}
		}
		return out
	}
	return [][]syntax.WordPart{parts}
}

func braceElems(br *syntax.BraceExp) [][]syntax.WordPart {
	if br.Sequence {
		return sequence(br)
	}
	var out [][]syntax.WordPart
	for _, e := range br.Elems {
		if len(out) >= maxBraces {
			break
		}
		out = append(out, expandBraces(e.Parts)...)
	}
	return out
}

// sequence expands {a..e} and {1..9..2}.
func sequence(br *syntax.BraceExp) [][]syntax.WordPart {
	from, to, step := br.Elems[0].Lit(), br.Elems[1].Lit(), 1
	if len(br.Elems) > 2 {
		step, _ = strconv.Atoi(br.Elems[2].Lit())
	}
	if step < 0 {
		step = -step
	}
	step = max(1, step)
	a, errA := strconv.Atoi(from)
	z, errZ := strconv.Atoi(to)
	letters := errA != nil || errZ != nil
	if letters && (len(from) != 1 || len(to) != 1) {
		return [][]syntax.WordPart{{&syntax.Lit{Value: "{" + from + ".." + to + "}"}}}
	}
	if letters {
		a, z = int(from[0]), int(to[0])
	}
	var out [][]syntax.WordPart
	for n := 0; n < maxBraces; n++ {
		text := strconv.Itoa(a)
		if letters {
			text = string(rune(a))
		}
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: text, ValuePos: br.Pos(), ValueEnd: br.End()}})
		switch {
		case a < z && a+step <= z:
			a += step
		case a > z && a-step >= z:
			a -= step
		default:
			return out
		}
	}
	return out
}

// decodeANSIC undoes the escapes of $'…' (bash manual, ANSI-C Quoting). A NUL
// ends the string, as it does in bash.
func decodeANSIC(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a':
			b = append(b, '\a')
		case 'b':
			b = append(b, '\b')
		case 'e', 'E':
			b = append(b, 0x1b)
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'v':
			b = append(b, '\v')
		case 'c':
			if i+1 < len(s) {
				i++
				b = append(b, s[i]&0x1f)
			}
		case 'x', 'u', 'U':
			width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			n, used := digits(s[i+1:], width, 16)
			if used == 0 {
				b = append(b, '\\', c)
				continue
			}
			i += used
			if c == 'x' {
				b = append(b, byte(n))
			} else {
				b = utf8.AppendRune(b, rune(n))
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, used := digits(s[i:], 3, 8)
			i += used - 1
			b = append(b, byte(n))
		case '\\', '\'', '"', '?':
			b = append(b, c)
		default:
			b = append(b, '\\', c)
		}
	}
	if i := strings.IndexByte(string(b), 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

func digits(s string, width, radix int) (n, used int) {
	for used < width && used < len(s) {
		d := strings.IndexByte("0123456789abcdef", s[used]|0x20)
		if s[used] >= '0' && s[used] <= '9' {
			d = int(s[used] - '0')
		}
		if d < 0 || d >= radix {
			break
		}
		n = n*radix + d
		used++
	}
	return n, used
}
