package redact

import (
	"strings"
	"unsafe"

	"github.com/sbx-run/sbx/secretsenv"
)

const (
	longestName  = 64   // of a setting
	shortestText = 6    // of the value of a setting
	longestText  = 4096 // of any value; what stands behind that is data
	shortestWord = 12   // behind Bearer and Basic
	shortestBot  = 20   // behind the number of a bot
	keeps        = 16   // bytes from which on a mask shows both ends
	context      = longestName + 16
)

// shapes masks values by what stands before them, or by how they look. It sees
// each byte once, but for the last word and its name, which it keeps.
type shapes struct {
	text []byte // what was seen: first what was passed on and is kept as context
	sent int    // how much of text was passed on
	from int    // where reading goes on: the beginning of a word
	cut  bool   // the value at the end was masked before it ended: drop the rest of it
	out  []byte
}

// Classes of bytes.
const (
	inWord  = 1 << iota // of names and tokens
	inValue             // of a value without quotes
	inToken             // behind Bearer: base64 too
	notLower
)

// byteClass is written out so that nothing is computed at start.
var byteClass = [256]uint8{
	8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
	8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
	8, 10, 8, 10, 10, 10, 8, 8, 8, 8, 10, 14, 8, 15, 15, 14,
	15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 10, 8, 8, 14, 8, 10,
	10, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
	15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 8, 8, 8, 10, 15,
	8, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
	7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 14, 8,
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
}

// next takes more text and returns what can be passed on. The result is valid
// until the next call.
func (s *shapes) next(p []byte, final bool, hits *int) []byte {
	s.out = s.out[:0]
	if s.cut {
		n := 0
		for n < len(p) && byteClass[p[n]]&inValue != 0 {
			n++
		}
		p = p[n:]
		s.cut = len(p) == 0
	}
	s.text = append(s.text, p...)
	stop := s.read(final, hits)
	s.send(stop)
	s.keep()
	return s.out
}

// send passes text up to a place on.
func (s *shapes) send(to int) {
	if to > s.sent {
		s.out = append(s.out, s.text[s.sent:to]...)
		s.sent = to
	}
}

// mask passes text up to a value on, and a mask for the value.
func (s *shapes) mask(from, to int, hits *int) {
	s.send(from)
	if value := s.text[from:to]; len(value) >= keeps {
		s.out = append(s.out, value[:4]...)
		s.out = append(s.out, "…"...)
		s.out = append(s.out, value[len(value)-4:]...)
	} else {
		s.out = append(s.out, "***"...)
	}
	s.sent = to
	*hits++
}

// keep drops what is no longer needed as context.
func (s *shapes) keep() {
	drop := min(s.sent, s.from) - context
	if drop <= 4096 && drop < len(s.text)/2 || drop <= 0 {
		return
	}
	s.text = s.text[:copy(s.text, s.text[drop:])]
	s.sent -= drop
	s.from -= drop
}

// read goes on from s.from, word by word, and returns up to where the text can
// be passed on as it is.
func (s *shapes) read(final bool, hits *int) int {
	t := s.text
	for i := s.from; ; {
		start := i
		kinds := uint8(0)
		for i < len(t) && byteClass[t[i]]&inWord != 0 {
			kinds |= byteClass[t[i]]
			i++
		}
		if i == len(t) && !final { // the word may go on
			if i-start > longestText { // and is none
				s.from = i
				return i
			}
			s.from = start
			return start
		}
		if n := i - start; n >= shortestWord && kinds&notLower != 0 && n <= longestText && start >= s.sent && secretsenv.IsToken(str(t[start:i])) {
			s.mask(start, i, hits)
		}
		if i == len(t) {
			s.from = i
			return i
		}
		v := s.after(start, i)
		if v.kind == nothing {
			i++
			continue
		}
		if v.kind == unread { // the next bytes say what it is
			if final {
				i++
				continue
			}
			s.from = start
			return len(t)
		}
		end, open := v.end(t)
		if open && end-v.start <= longestText && (!final || !v.isSecret(t, end)) {
			s.from = start // decided when more is there
			if final {
				return len(t)
			}
			return max(v.start, s.sent)
		}
		if v.isSecret(t, end) && end > s.sent {
			to := min(end, v.start+longestText)
			s.mask(max(v.start, s.sent), to, hits)
			s.cut = open && v.quote == 0 && to == end // else what follows is data
			i = to
			continue
		}
		i++
	}
}

// value is a place where a credential may stand.
type value struct {
	kind  valueKind
	start int
	quote byte // what it ends with; 0: with the first byte that is not of its class
}

type valueKind uint8

const (
	nothing  valueKind = iota
	unread             // perhaps: the text ends too early
	setting            // behind a name and "=" or ":"
	header             // behind Bearer or Basic
	bot                // behind the number of a bot
	userInfo           // the password of an address
)

// after looks at what follows the word t[start:i], by the byte at i.
func (s *shapes) after(start, i int) value {
	t := s.text
	word := t[start:i]
	switch t[i] {
	case '=', ':':
		return s.assigned(word, i)
	case '"', '\'': // "name": "value"
		j := i + 1
		for j < len(t) && t[j] == ' ' && j < i+4 {
			j++
		}
		if len(word) == 0 || start == 0 || t[start-1] != t[i] {
			return value{}
		}
		if j == len(t) {
			return value{kind: unread}
		}
		if t[j] == ':' || t[j] == '=' {
			return s.assigned(word, j)
		}
	case ' ':
		if n := len(word); n == 6 && strings.EqualFold(str(word), "bearer") || n == 5 && strings.EqualFold(str(word), "basic") {
			j := i
			for j < len(t) && t[j] == ' ' {
				j++
			}
			return value{kind: header, start: j}
		}
	}
	return value{}
}

// assigned is what stands behind a name and the "=" or ":" at i.
func (s *shapes) assigned(name []byte, i int) value {
	t := s.text
	if len(name) == 0 || len(name) > longestName {
		return value{}
	}
	if t[i] == ':' {
		if strings.HasPrefix("//", str(t[i+1:min(i+3, len(t))])) {
			if i+3 > len(t) {
				return value{kind: unread}
			}
			return s.address(i + 3)
		}
		if len(name) >= 6 && digits(name) {
			return value{kind: bot, start: i + 1}
		}
	}
	if !isSecretName(str(name)) {
		return value{}
	}
	j := i + 1
	for j < len(t) && (t[j] == ' ' || t[j] == '\t') && j < i+8 {
		j++
	}
	v := value{kind: setting, start: j}
	if j < len(t) && (t[j] == '"' || t[j] == '\'') {
		v.start, v.quote = j+1, t[j]
	}
	return v
}

// address finds the password of user:password@host.
func (s *shapes) address(at int) value {
	t := s.text
	for j := at; j < at+longestName; j++ {
		if j == len(t) {
			return value{kind: unread}
		}
		switch c := t[j]; {
		case c == ':':
			return value{kind: userInfo, start: j + 1, quote: '@'}
		case byteClass[c]&inValue == 0 || c == '/' || c == '@':
			return value{}
		}
	}
	return value{}
}

// isSecretName says whether a setting of that name holds a credential.
func isSecretName(name string) bool {
	switch name[len(name)-1] | 0x20 {
	case 'd', 't', 'n', 'y', 'h', 'g', 'e': // the ends of the names that it knows
		if secretsenv.IsSecretSetting(name) {
			return true
		}
	}
	for i := range len(name) {
		if byteClass[name[i]]&notLower == 0 { // what follows is the manner of variables
			return false
		}
	}
	for _, part := range [...]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasSuffix(name, "_KEY")
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// end finds where a value ends. open: the text ended first.
func (v value) end(t []byte) (end int, open bool) {
	class := uint8(inValue)
	if v.kind == header || v.kind == bot {
		class = inToken
	}
	for j := v.start; ; j++ {
		if j >= len(t) {
			return len(t), true
		}
		if j > v.start+longestText {
			return j, false
		}
		switch c := t[j]; {
		case v.quote != 0 && v.kind == setting:
			if c == v.quote && (j == v.start || t[j-1] != '\\') || c == '\n' {
				return j, false
			}
		case v.kind == userInfo && (c == '@' || c == '/'):
			return j, false
		case byteClass[c]&class == 0:
			return j, false
		}
	}
}

// isSecret says whether a value is one to mask.
func (v value) isSecret(t []byte, end int) bool {
	b := t[v.start:end]
	switch v.kind {
	case header:
		return len(b) >= shortestWord
	case bot:
		return len(b) >= shortestBot
	case userInfo:
		return len(b) > 0 && end < len(t) && t[end] == '@'
	}
	if len(b) < shortestText {
		return false
	}
	switch b[0] {
	case '$', '%', '<', '{', '/': // a reference, a place holder, a path
		return false
	}
	text := str(b)
	for _, word := range [...]string{"Bearer", "bearer", "Basic", "basic", "true", "false", "null", "undefined", "string", "required", "optional", "process.env", "os.environ", Removed} {
		if strings.HasPrefix(text, word) && (len(text) == len(word) || text[len(word)] == '.' || word == Removed) {
			return false
		}
	}
	return true
}

// str looks at bytes as a string for the time of a comparison.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
