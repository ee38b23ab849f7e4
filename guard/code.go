package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// maxPrograms bounds programs inside programs.
const maxPrograms = 5

// scan looks through a program for calls that delete, write to a device or run a
// command with literal arguments. It is conservative: what a program computes is
// not followed, but for constants, joins and the home directory.
func (k *checker) scan(i int, c *shell.Call, l *lang, text string) {
	if k.depth >= maxPrograms || text == "" {
		return
	}
	if forksForever(text) {
		k.report(wayBomb, i, "", spelledAll(c))
		return
	}
	switch l.name {
	case "tcl":
		k.tcl(i, c, text)
	case "applescript":
		if script := strings.ToLower(strings.TrimSpace(text)); strings.HasPrefix(script, "tell app") && (strings.HasSuffix(script, "to shut down") || strings.HasSuffix(script, "to restart")) {
			k.report(wayPower, i, "", spelledAll(c))
		}
	}
	p := code{k: k, i: i, c: c, lang: l, tokens: lex(l, text), dir: c.Dir}
	p.loops()
	p.scan()
}

// forksForever looks for the fork bombs of other languages.
func forksForever(text string) bool {
	if !strings.Contains(text, "fork") {
		return false
	}
	text = strings.ToLower(strings.Join(strings.Fields(text), ""))
	for _, bomb := range [...]string{
		"forkwhilefork", "forkwhile1", "forkwhiletrue", "forkwhile(1", "while1{fork", "while(1){fork", "while(true){fork", "for(;;){fork", "loop{fork", "loopdofork", "whiletruedofork",
		"while1:os.fork()", "whiletrue:os.fork()", "while1:fork()", "whiletrue:fork()", "while(1)fork", "while(1){pcntl_fork", "while(1)pcntl_fork", "while(true)pcntl_fork", "for(;;)pcntl_fork", "for(;;){pcntl_fork", "while(true){pcntl_fork",
		"for(;;)fork", "while(1){os.fork", "foreverfork", "fork()whilefork()", "fork()while1",
	} {
		if strings.Contains(text, bomb) {
			return true
		}
	}
	return false
}

// code is one program that is scanned.
type code struct {
	k      *checker
	i      int
	c      *shell.Call
	lang   *lang
	tokens []token
	dir    string
	names  []binding
	alias  []binding // other names of functions: from os import system as s
	depth  int
}

// binding is a name that holds a literal.
type binding struct{ name, value string }

func (p *code) lookup(name string) (string, bool) {
	name = strings.TrimLeft(name, "$@")
	for j := len(p.names) - 1; j >= 0; j-- {
		if p.names[j].name == name {
			return p.names[j].value, p.names[j].value != ""
		}
	}
	return "", false
}

// bind remembers NAME = LITERAL. Another value makes the name unknown again.
func (p *code) bind(name, value string) {
	if len(p.names) < 256 {
		p.names = append(p.names, binding{strings.TrimLeft(name, "$@"), value})
	}
}

// loops binds the variable of for X in [LIST] to the first item that guard
// protects, also where the loop stands behind its body.
func (p *code) loops() {
	for j := range p.tokens {
		if p.kind(j-1) == 'i' && p.kind(j+1) == 'i' && p.tokens[j].text == "as" || p.kind(j) == ':' && p.lang.name == "js" && p.kind(j-1) == 'i' && p.kind(j+1) == 'i' && (p.kind(j+2) == '}' || p.kind(j+2) == ',') {
			p.renamed(p.tokens[j+1].text, p.tokens[j-1].text)
		}
		if p.tokens[j].text != "for" || p.kind(j+1) != 'i' || p.kind(j+2) != 'i' || p.tokens[j+2].text != "in" {
			continue
		}
		end := p.statement(j + 3)
		items, _ := p.values(j+3, end)
		for _, item := range items {
			if at, _ := p.k.judgePath(p.c, item, true); at != elsewhere {
				p.bind(p.tokens[j+1].text, item)
				break
			}
		}
	}
}

// renamed remembers another name of a function that matters.
func (p *code) renamed(name, function string) {
	if actionOf(p.lang, function) != noAction && len(p.alias) < 64 {
		p.alias = append(p.alias, binding{name, function})
	}
}

// function undoes a second name.
func (p *code) function(name string) string {
	for _, a := range p.alias {
		if a.name == name {
			return a.value
		}
	}
	return name
}

func (p *code) kind(j int) byte {
	if j < 0 || j >= len(p.tokens) {
		return 0
	}
	return p.tokens[j].kind
}

func (p *code) scan() {
	for j := 0; j < len(p.tokens); j++ {
		switch t := &p.tokens[j]; t.kind {
		case 'x':
			p.run(t.value(p.lookup))
		case 's':
			p.stringInPlace(j)
		case 'i':
			p.identifier(j)
		}
	}
}

// stringInPlace judges a string by what stands beside it: awk's pipes and
// output files, and "…".execute().
func (p *code) stringInPlace(j int) {
	v := p.tokens[j].value(p.lookup)
	before, after := p.kind(j-1), p.kind(j+1)
	switch {
	case p.lang.name == "awk" && (after == '|' && p.kind(j+2) == 'i' && p.tokens[j+2].text == "getline" || before == '|' && p.kind(j-2) != '|'):
		p.run(v)
		if before == '|' {
			p.printedTo(j, v)
		}
	case p.lang.name == "awk" && before == '>':
		p.write(v)
	case after == '.' && p.kind(j+2) == 'i' && p.tokens[j+2].text == "execute", after == '.' && p.kind(j+2) == '!':
		p.run(v)
	}
}

// printedTo judges print "rm -rf /" | "sh".
func (p *code) printedTo(j int, command string) {
	if command != "sh" && command != "bash" && !strings.HasSuffix(command, "/sh") && !strings.HasSuffix(command, "/bash") {
		return
	}
	for n := j - 2; n >= 0 && p.kind(n) != ';' && p.kind(n) != '{' && p.kind(n) != '\n'; n-- {
		if p.kind(n) == 's' {
			p.run(p.tokens[n].value(p.lookup))
		}
	}
}

// identifier judges a call or an assignment that starts at token j.
func (p *code) identifier(j int) {
	name := p.tokens[j].text
	next := p.kind(j + 1)
	if next == '=' && p.kind(j+2) != '=' && p.kind(j-1) != '.' && p.kind(j-1) != '(' && p.kind(j-1) != ',' {
		end := p.statement(j + 2)
		values, _ := p.values(j+2, end)
		if len(values) == 1 && !strings.Contains(values[0], hole) {
			p.bind(name, values[0])
		} else {
			p.bind(name, "")
		}
		if p.kind(end-1) == 'i' { // e = require("child_process").execSync
			p.renamed(name, p.tokens[end-1].text)
		}
		return
	}
	if p.lang.name == "awk" && next == '|' && p.kind(j+2) == 'i' && p.tokens[j+2].text == "getline" { // cmd | getline
		if v, ok := p.lookup(name); ok {
			p.run(v)
		}
		return
	}
	if name == "getattr" && next == '(' { // getattr(os, "system")("…")
		if end := p.matching(j + 1); p.kind(end-1) == 's' && p.kind(end+1) == '(' {
			if act := actionOf(p.lang, p.tokens[end-1].text); act != noAction {
				p.act(act, j, end+2, p.matching(end+1))
			}
		}
		return
	}
	name = p.function(name)
	act := actionOf(p.lang, name)
	if act == noAction || !p.owned(j) {
		return
	}
	start, end := j+1, 0
	switch {
	case next == '!' && p.kind(j+2) == '(': // rm_rf! of Elixir
		start = j + 3
		end = p.matching(j + 2)
	case next == '(':
		start = j + 2
		end = p.matching(j + 1)
	case p.lang.bare && (next == 's' || next == 'x' || next == '[' || next == 'i' && p.kind(j-1) != '.' && (act != openFile || p.lang.name == "perl")), p.lang.name == "js" && next == 's' && name == "$":
		end = p.statement(j + 1)
	case act == deletesTree:
		start = end // Pathname.new("/").rmtree
	default:
		return
	}
	p.act(act, j, start, end)
}

// matching finds the partner of the parenthesis at j.
func (p *code) matching(j int) int {
	depth := 0
	for n := j; n < len(p.tokens); n++ {
		switch p.tokens[n].kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth <= 0 {
				return n
			}
		}
	}
	return len(p.tokens)
}

// statement finds the end of the statement that j is in.
func (p *code) statement(j int) int {
	depth := 0
	for n := j; n < len(p.tokens); n++ {
		switch t := &p.tokens[n]; t.kind {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return n
			}
		case ';':
			return n
		case '\n':
			if depth == 0 {
				return n
			}
		case 'i':
			if depth == 0 && n > j && (t.text == "with" && p.lang.name == "applescript" || t.text == "if" || t.text == "unless" || t.text == "or" || t.text == "and" || t.text == "do" || t.text == "while" || t.text == "for") {
				return n
			}
		}
	}
	return len(p.tokens)
}

// run judges a command line that the program gives to a shell.
func (p *code) run(text string) { p.k.runText(p.i, p.c, p.dir, text) }

func (p *code) write(file string) {
	w := shell.Word{Value: file, Prefix: file, Literal: true, Quoted: true}
	c := *p.c
	c.Dir = p.dir
	p.k.writes(p.i, &c, &w)
}

// runText judges text that something else than the command's own shell runs.
func (k *checker) runText(i int, c *shell.Call, dir, text string) {
	if k.depth >= maxPrograms || strings.TrimSpace(text) == "" {
		return
	}
	at := k.s.Where
	at.Workspace, at.Cwd = k.workspace(), dir
	k.adopt(i, shell.ParseAt(text, shell.Sh, at))
}

// runArgv judges an argument vector.
func (k *checker) runArgv(i int, dir string, argv []string) {
	if k.depth >= maxPrograms || len(argv) == 0 || argv[0] == "" {
		return
	}
	at := k.s.Where
	at.Workspace, at.Cwd = k.workspace(), dir
	k.adopt(i, shell.FromArgv(argv, at))
}

// adopt reports the violations of an inner script as those of call i.
func (k *checker) adopt(i int, s *shell.Script) {
	inner := checker{s: s, depth: k.depth + 1, allow: k.allow}
	inner.check()
	for _, v := range inner.out {
		v.Call, v.Span = i, k.s.Calls[i].Span
		k.add(v)
	}
}

// tcl judges exec, spawn and file delete, whose words need no quotes.
func (k *checker) tcl(i int, c *shell.Call, text string) {
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' || r == '[' || r == ']' }) {
		line = strings.TrimSpace(line)
		for _, verb := range [...]string{"exec ", "spawn ", "system "} {
			if rest, ok := strings.CutPrefix(line, verb); ok {
				k.runText(i, c, c.Dir, strings.TrimSpace(strings.TrimPrefix(rest, "--")))
			}
		}
		if rest, ok := strings.CutPrefix(line, "file delete -force "); ok {
			k.runText(i, c, c.Dir, "rm -rf "+rest)
		}
	}
}
