package seatbelt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// This is what is known of how the kernel reads a profile: of the rules that match
// an operation the last one counts, and "default" where none does. It is written
// from the language, not from the package: it reads the text that sandbox-exec
// would get.

// node is a list or, without one, a word. A word in quotes is text.
type node struct {
	list []node
	word string
	text bool
}

// parse reads a profile, and fails at the first byte that no reader of Scheme
// would take.
func parse(t testing.TB, profile string) []node {
	t.Helper()
	r := &reader{rest: profile}
	var all []node
	for r.skip(); r.rest != ""; r.skip() {
		n, err := r.node()
		if err != nil {
			t.Fatalf("%v in %q", err, profile)
		}
		all = append(all, n)
	}
	return all
}

type reader struct{ rest string }

func (r *reader) skip() {
	for {
		r.rest = strings.TrimLeft(r.rest, " \t\n")
		if !strings.HasPrefix(r.rest, ";") {
			return
		}
		_, r.rest, _ = strings.Cut(r.rest, "\n")
	}
}

func (r *reader) node() (node, error) {
	r.skip()
	switch {
	case r.rest == "":
		return node{}, fmt.Errorf("the text ends in a list")
	case r.rest[0] == '(':
		r.rest = r.rest[1:]
		n := node{list: []node{}}
		for r.skip(); !strings.HasPrefix(r.rest, ")"); r.skip() {
			inner, err := r.node()
			if err != nil {
				return n, err
			}
			n.list = append(n.list, inner)
		}
		r.rest = r.rest[1:]
		return n, nil
	case r.rest[0] == '"':
		return r.str()
	case r.rest[0] == ')':
		return node{}, fmt.Errorf("a list ends that did not begin")
	}
	end := strings.IndexAny(r.rest, " \t\n()\"")
	if end < 0 {
		end = len(r.rest)
	}
	n := node{word: r.rest[:end]}
	r.rest = r.rest[end:]
	return n, nil
}

func (r *reader) str() (node, error) {
	var b strings.Builder
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			r.rest = r.rest[i+1:]
			return node{word: b.String(), text: true}, nil
		case c != '\\':
			b.WriteByte(c)
		case i+1 == len(r.rest):
			return node{}, fmt.Errorf("the text ends in a string")
		default:
			i++
			switch c := r.rest[i]; c {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'x':
				n, err := strconv.ParseUint(r.rest[i+1:i+3], 16, 8)
				if err != nil {
					return node{}, err
				}
				b.WriteByte(byte(n))
				i += 2
			default:
				b.WriteByte(c)
			}
		}
	}
	return node{}, fmt.Errorf("a string does not end")
}

// act is an operation that a command tries.
type act struct {
	op     string // "file-write-data"
	path   string // of files and unix sockets
	remote string // "localhost:80", for connections by IP
	name   string // of services and the like
	// facts are words that hold: (target same-sandbox), (extension "…").
	facts []string
	// unknown is a word that the system does not know.
	unknown string
}

// decide is "allow" or "deny".
func decide(t testing.TB, profile []node, a act) string {
	t.Helper()
	verdict := ""
	for _, rule := range profile {
		if len(rule.list) < 2 || rule.list[0].word == "version" {
			continue
		}
		if rule = conditional(t, rule, a); rule.list == nil {
			continue
		}
		if rule.list[0].word != "allow" && rule.list[0].word != "deny" {
			t.Fatalf("no rule: %v", rule)
		}
		var filters []node
		named := false
		for _, part := range rule.list[1:] {
			if part.list != nil {
				filters = append(filters, part)
			} else if named = named || covers(part.word, a.op); part.word == "default" && verdict == "" {
				verdict = rule.list[0].word
			}
		}
		if named && (len(filters) == 0 || slices.ContainsFunc(filters, func(f node) bool { return matches(t, f, a) })) {
			verdict = rule.list[0].word
		}
	}
	return verdict
}

// conditional takes (if (defined? 'WORD) RULE) apart. Without such a rule it is the rule.
func conditional(t testing.TB, n node, a act) node {
	t.Helper()
	if n.list[0].word != "if" {
		return n
	}
	test := n.list[1].list
	if len(n.list) > 3 || len(test) != 2 || test[0].word != "defined?" || !strings.HasPrefix(test[1].word, "'") {
		t.Fatalf("no condition: %v", n)
	}
	if "'"+a.unknown == test[1].word || len(n.list) < 3 {
		return node{}
	}
	return n.list[2]
}

func covers(pattern, op string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(op, prefix)
	}
	return pattern == op
}

func matches(t testing.TB, f node, a act) bool {
	t.Helper()
	is := func(n node) bool { return matches(t, n, a) }
	args := f.list[1:]
	switch f.list[0].word {
	case "require-all":
		return !slices.ContainsFunc(args, func(n node) bool { return !is(n) })
	case "require-any":
		return slices.ContainsFunc(args, is)
	case "require-not":
		return !slices.ContainsFunc(args, is)
	case "subpath":
		at := args[0].word
		return a.path == at || strings.HasPrefix(a.path, strings.TrimSuffix(at, "/")+"/")
	case "literal":
		return a.path == args[0].word
	case "regex":
		return regexp.MustCompile(args[0].word).MatchString(a.path)
	case "global-name", "ipc-posix-name":
		return a.name == args[0].word
	case "ipc-posix-name-prefix":
		return a.name != "" && strings.HasPrefix(a.name, args[0].word)
	case "remote", "local":
		return socket(t, args, a)
	case "target", "extension", "socket-domain", "ioctl-command":
		return slices.Contains(a.facts, f.list[0].word+" "+args[0].word)
	}
	t.Fatalf("unknown filter %v", f)
	return false
}

// socket: (remote ip "host:port") or (remote unix-socket FILTER).
func socket(t testing.TB, args []node, a act) bool {
	t.Helper()
	if args[0].word == "unix-socket" {
		return a.path != "" && matches(t, args[1], a)
	}
	host, port, _ := strings.Cut(args[1].word, ":")
	if host != "*" && host != "localhost" {
		t.Fatalf("the language knows no host %q", host)
	}
	h, p, ip := strings.Cut(a.remote, ":")
	return ip && (host == "*" || host == h) && (port == "*" || port == p)
}

// The evaluator itself, on texts whose answers are known.
func TestEvaluator(t *testing.T) {
	for _, c := range []struct {
		profile string
		act     act
		want    string
	}{
		{`(version 1)(deny default)`, act{op: "file-read-data", path: "/a"}, "deny"},
		{`(allow default)(deny file-write* (subpath "/a"))`, act{op: "file-write-data", path: "/a/b"}, "deny"},
		{`(allow default)(deny file-write* (subpath "/a"))`, act{op: "file-write-data", path: "/ab"}, "allow"},
		{`(allow default)(deny file-write* (subpath "/a"))`, act{op: "file-read-data", path: "/a/b"}, "allow"},
		{`(deny default)(allow file* (subpath "/a"))(deny file* (literal "/a/b"))`, act{op: "file-read-data", path: "/a/b"}, "deny"},
		{`(deny default)(deny file* (literal "/a/b"))(allow file* (subpath "/a"))`, act{op: "file-read-data", path: "/a/b"}, "allow"},
		{`(deny default)(allow file* (require-all (subpath "/a") (require-not (regex "^/a/[^/]+$"))))`, act{op: "file-x", path: "/a/b"}, "deny"},
		{`(deny default)(allow file* (require-all (subpath "/a") (require-not (regex "^/a/[^/]+$"))))`, act{op: "file-x", path: "/a/b/c"}, "allow"},
		{`(deny default)(allow network-outbound (remote ip "localhost:80"))`, act{op: "network-outbound", remote: "localhost:80"}, "allow"},
		{`(deny default)(allow network-outbound (remote ip "localhost:80"))`, act{op: "network-outbound", remote: "localhost:81"}, "deny"},
		{`(deny default)(allow network-outbound (remote ip "*:*"))`, act{op: "network-outbound", path: "/run/s"}, "deny"},
		{`(allow default)(if (defined? 'W) (deny x))`, act{op: "x"}, "deny"},
		{`(allow default)(if (defined? 'W) (deny x))`, act{op: "x", unknown: "W"}, "allow"},
		{"; (allow default)\n(deny default)", act{op: "x"}, "deny"},
		{`(allow file-read* (literal "/a\"b\\c\n\x01"))(deny default)`, act{op: "file-read-data", path: "/a\"b\\c\n\x01"}, "allow"},
	} {
		if got := decide(t, parse(t, c.profile), c.act); got != c.want {
			t.Errorf("%s: %+v: %s", c.profile, c.act, got)
		}
	}
}
