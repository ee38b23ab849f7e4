package guard

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// values evaluates a list of expressions between two tokens, lists inside it
// flattened. Keyword arguments are left out; words names the identifiers seen.
func (p *code) values(start, end int) (out []string, words []string) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > 20 {
		return nil, nil
	}
	term, any := "", false
	flush := func() {
		if any {
			out = append(out, term)
		}
		term, any = "", false
	}
	for j := start; j < end && j < len(p.tokens); j++ {
		switch t := &p.tokens[j]; t.kind {
		case 's', 'x':
			if any && p.kind(j-1) == 's' && p.lang.name != "python" && p.lang.name != "awk" && p.lang.name != "js" {
				flush() // juxtaposed words
			}
			v := t.value(p.lookup)
			if p.kind(j+1) == '%' && p.lang.name == "python" || p.kind(j+1) == '.' && p.kind(j+2) == 'i' && p.tokens[j+2].text == "format" {
				v = strings.NewReplacer("%s", hole, "%d", hole, "{}", hole, "{0}", hole).Replace(v)
				term, any = term+v, true
				j = end
				continue
			}
			if p.kind(j+1) == '.' && p.kind(j+2) == 'i' && p.tokens[j+2].text == "join" && p.kind(j+3) == '(' { // ' '.join([…])
				close := p.matching(j + 3)
				parts, _ := p.values(j+4, close)
				v = strings.Join(parts, v)
				j = close
			}
			term, any = term+v, true
		case 'i':
			if (p.kind(j+1) == '=' || p.kind(j+1) == ':' && p.lang.name == "js") && (t.text == "args" || t.text == "cmd" || t.text == "path" || t.text == "mode") { // positional by name
				j++
				continue
			}
			if p.kind(j+1) == '=' && p.kind(j+2) != '=' || p.kind(j+1) == ':' && p.lang.name != "elixir" { // a keyword argument
				words = append(words, t.text)
				for j+1 < end && p.kind(j+1) != ',' && p.kind(j+1) != '}' {
					j++
					if k := p.kind(j); k == '(' || k == '[' || k == '{' {
						j = p.matching(j)
					} else if k == 'i' {
						words = append(words, p.tokens[j].text)
					}
				}
				continue
			}
			if any && p.kind(j-1) == 's' && p.lang.name != "python" {
				flush() // juxtaposed words
			}
			if p.lang.name == "lisp" && (t.text == "nil" || t.text == "t") {
				flush()
				continue
			}
			if t.text == "c" && p.lang.name == "r" && p.kind(j+1) == '(' {
				continue // c("a", "b") is a list
			}
			var v string
			v, j = p.name(j, end)
			words = append(words, t.text)
			if p.kind(j) == 'i' {
				words = append(words, p.tokens[j].text)
			}
			term, any = term+v, true
		case ',', '\n', ';':
			if t.kind == ',' || p.kind(j-1) != '+' {
				flush()
			}
		case '[', '{', '(':
			close := min(p.matching(j), end)
			inner, more := p.values(j+1, close)
			words = append(words, more...)
			if len(inner) == 1 && t.kind == '(' {
				term, any = term+inner[0], true
			} else {
				flush()
				out = append(out, inner...)
			}
			j = close
		case '/':
			if any { // Path("/") / "etc"
				term += "/"
			}
		case '+', '.', '>', '<', '~', '&', '*', '\\', ':':
		default:
			if isDigit(t.kind) {
				if any && p.kind(j-1) != ',' && !isDigit(p.kind(j-1)) && p.kind(j-1) != '.' {
					term += hole
				}
			}
		}
	}
	flush()
	return out, words
}

// name evaluates an expression that starts with an identifier: a known
// variable, a join, the home directory. The rest is a hole.
func (p *code) name(j, end int) (string, int) {
	last, j := p.dotted(j, end)
	var v string
	switch next := p.kind(j + 1); {
	case next == '(':
		close := min(p.matching(j+1), end)
		args, _ := p.values(j+2, close)
		v, j = p.callValue(last, args), close
	case next == '[' || next == '{' && p.lang.name == "perl": // os.environ["HOME"], $ENV{HOME}
		close := min(p.matching(j+1), end)
		v = hole
		for n := j + 2; n < close; n++ {
			if p.tokens[n].text == "HOME" {
				v = p.k.s.Where.Home
			}
		}
		j = close
	default:
		return p.constant(last), j
	}
	for p.kind(j+1) == '.' && p.kind(j+2) == 'i' && j+2 < end { // methods of the value
		last, j = p.dotted(j+2, end)
		if p.kind(j+1) != '(' {
			return p.constant(last), j
		}
		close := min(p.matching(j+1), end)
		args, _ := p.values(j+2, close)
		switch last {
		case "strip", "split", "decode", "encode", "toString", "trim", "to_s", "resolve", "absolute", "as_posix":
		case "expanduser":
			v = p.callValue(last, []string{v})
		case "joinpath", "join":
			v = p.callValue("join", append([]string{v}, args...))
		default:
			v = p.callValue(last, args)
		}
		j = close
	}
	return v, j
}

// dotted takes a.b.c or A::b and returns the last name.
func (p *code) dotted(j, end int) (string, int) {
	for {
		n := j + 2
		switch {
		case p.kind(j+1) == ':' && p.kind(j+2) == ':':
			n++
		case p.kind(j+1) != '.':
			return p.tokens[j].text, j
		}
		if n >= end || p.kind(n) != 'i' {
			return p.tokens[j].text, j
		}
		j = n
	}
}

func (p *code) constant(name string) string {
	switch name {
	case "sep":
		return "/"
	case "HOME", "homedir", "home":
		return p.k.s.Where.Home
	}
	if v, ok := p.lookup(name); ok {
		return v
	}
	return hole
}

// callValue is the value of a call, where it only passes on or joins what it is
// given.
func (p *code) callValue(name string, args []string) string {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch name {
	case "join", "joinpath", "resolve", "catfile", "catdir":
		out := ""
		for n, a := range args {
			if strings.HasPrefix(a, "/") && name != "catfile" && name != "catdir" && p.lang.name != "ruby" {
				out = a
			} else if n == 0 {
				out = a
			} else {
				out += "/" + a
			}
		}
		return out
	case "Path", "PurePath", "PosixPath", "PurePosixPath", "abspath", "realpath", "normpath", "normalize", "fspath", "str", "String", "glob", "iglob", "quote", "File", "Pathname", "new",
		"list", "sorted", "split", "strip", "escapeshellarg", "escapeshellcmd", "shellescape", "encode", "decode", "to_s", "bytes", "expand":
		return first
	case "expanduser", "expand_path":
		if rest, ok := strings.CutPrefix(first, "~"); ok && (rest == "" || rest[0] == '/') {
			return p.k.s.Where.Home + rest
		}
		return first
	case "home", "homedir", "user_home", "user_home!":
		return p.k.s.Where.Home
	case "getenv", "get_env", "get", "fetch":
		if first == "HOME" {
			return p.k.s.Where.Home
		}
	case "chr", "fromCharCode":
		return hole
	case "b64decode", "atob", "decode64", "decode_base64", "base64_decode", "from":
		if out, err := base64.StdEncoding.DecodeString(first); err == nil && len(out) > 0 {
			return string(out)
		}
	case "fromhex", "unhexlify", "hex2bin":
		if out, err := hex.DecodeString(first); err == nil && len(out) > 0 {
			return string(out)
		}
	}
	return hole
}
