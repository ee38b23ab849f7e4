package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

// needles are exact texts to find in a stream: the values of secrets and what
// they look like in base64, hexadecimal and URL encoding. They do not change once
// they are made, so that many streams can share them.
type needles struct {
	// pairs has a bit for the first two bytes of each needle: most places of a
	// text are none, and are passed by one look.
	pairs   []uint64
	quads   []uint64            // the same for a hash of the first four bytes
	byPair  map[uint16][]string // longest first
	first   [256]bool
	longest int
}

// search is one stream that is looked through.
type search struct {
	needles *needles
	held    []byte
}

// newNeedles returns nil when there is nothing to look for.
func newNeedles(secrets []string) *needles {
	n := &needles{}
	for _, s := range secrets {
		// Who prints a value often adds or loses a line end.
		s = strings.TrimSpace(s)
		if len(s) < ShortestSecret {
			continue
		}
		for _, spelled := range spellings(s) {
			n.add(spelled)
		}
	}
	if n.byPair == nil {
		return nil
	}
	for pair := range n.byPair {
		slices.SortFunc(n.byPair[pair], func(a, b string) int { return len(b) - len(a) })
	}
	return n
}

func (n *needles) add(text string) {
	if n.byPair == nil {
		n.byPair, n.pairs = map[uint16][]string{}, make([]uint64, 1<<16/64)
		n.quads = make([]uint64, 1<<16/64)
	}
	q := quad(text[0], text[1], text[2], text[3])
	n.quads[q>>6] |= 1 << (q & 63)
	pair := uint16(text[0])<<8 | uint16(text[1])
	if slices.Contains(n.byPair[pair], text) {
		return
	}
	n.pairs[pair>>6] |= 1 << (pair & 63)
	n.first[text[0]] = true
	n.byPair[pair] = append(n.byPair[pair], text)
	n.longest = max(n.longest, len(text))
}

func quad(a, b, c, d byte) uint16 {
	return uint16((uint32(a)<<24 | uint32(b)<<16 | uint32(c)<<8 | uint32(d)) * 2654435761 >> 16)
}

// spellings lists a value as it is and encoded. In base64 it may stand anywhere
// in a longer text, at three offsets; the characters at its ends then depend on
// its neighbours and are left out.
func spellings(s string) []string {
	list := []string{s, hex.EncodeToString([]byte(s)), strings.ToUpper(hex.EncodeToString([]byte(s)))}
	for _, e := range []string{url.QueryEscape(s), url.PathEscape(s), lowerEscapes(url.QueryEscape(s))} {
		if e != s {
			list = append(list, e)
		}
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			text := alphabet.EncodeToString(append(make([]byte, offset), s...))
			// The first characters also hold bytes before the value, the last one
			// bits of what follows.
			start := (8*offset + 5) / 6
			end := (offset + len(s)) * 8 / 6
			if core := text[start:end]; len(core) >= ShortestSecret {
				list = append(list, core)
			}
		}
	}
	return list
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// next appends what p becomes to out, and holds back what may be the beginning
// of a needle unless final.
func (s *search) next(out, p []byte, final bool, hits *int) []byte {
	n := s.needles
	if n == nil {
		return append(out, p...)
	}
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	done := 0
	i := 0
	for ; i+1 < len(p); i++ {
		pair := uint16(p[i])<<8 | uint16(p[i+1])
		if n.pairs[pair>>6]&(1<<(pair&63)) == 0 {
			continue
		}
		if i+3 < len(p) {
			if q := quad(p[i], p[i+1], p[i+2], p[i+3]); n.quads[q>>6]&(1<<(q&63)) == 0 {
				continue
			}
		}
		length, undecided := n.at(p[i:], pair)
		if undecided && !final {
			break
		}
		if length > 0 {
			out = append(out, p[done:i]...)
			out = append(out, Removed...)
			*hits++
			done = i + length
			i = done - 1
		}
	}
	if final {
		return append(out, p[done:]...)
	}
	i = max(i, done)
	if i+1 == len(p) && !n.first[p[i]] { // else it may begin a pair
		i++
	}
	out = append(out, p[done:i]...)
	s.held = append([]byte(nil), p[i:]...)
	return out
}

// at finds the longest needle that text begins with. undecided: a longer one
// may turn out to be there when the text goes on.
func (n *needles) at(text []byte, pair uint16) (length int, undecided bool) {
	for _, needle := range n.byPair[pair] {
		if len(needle) <= len(text) {
			if length == 0 && string(text[:len(needle)]) == needle {
				length = len(needle)
			}
		} else if string(text) == needle[:len(text)] {
			undecided = true
		}
	}
	return length, undecided
}
