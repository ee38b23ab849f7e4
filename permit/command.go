package permit

import (
	"path"
	"strings"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/shell"
)

// Command is the call of the tool bash with a command that was read.
func Command(script *shell.Script, tags classify.Tags) Call {
	c := Call{Tool: "bash", Args: map[string]any{"command": script.Text}, Tags: tags}
	return c.Reading(script)
}

// Reading adds what rules look at to a call that runs a script.
func (c Call) Reading(script *shell.Script) Call {
	for _, call := range script.Calls {
		var argv []string
		for _, w := range call.Words {
			argv = append(argv, w.Value)
		}
		if len(argv) > 0 {
			c.Argv = append(c.Argv, argv)
		}
		for _, r := range call.Redirs {
			c.Files = append(c.Files, r.Target.Value)
		}
	}
	return c
}

// Read reads a command of bash as if it was started at w.
func Read(text string, w shell.Where) Call {
	script := shell.ParseAt(text, shell.Bash, w)
	tags, _ := classify.Classify(script)
	return Command(script, tags)
}

// paths lists what may be paths: words and files of the command, and the paths
// in the arguments of tools that take one. Relative ones stay relative.
func (c Call) paths() []string {
	var list []string
	named := func(file string) {
		if file != "" {
			list = append(list, path.Clean(file))
		}
	}
	add := func(word string) {
		name, value, ok := strings.Cut(word, "=")
		if ok && !strings.Contains(name, "/") { // --output=x, of=x
			named(value)
		}
		if !ok || !strings.HasPrefix(word, "-") {
			named(word)
		}
		if file, ok := strings.CutPrefix(word, "@"); ok { // curl --data @x
			named(file)
		}
	}
	for _, argv := range c.Argv {
		for _, word := range argv {
			add(word)
		}
	}
	for _, file := range c.Files {
		add(file)
	}
	for _, name := range [...]string{"path", "from", "to", "file"} {
		if text, ok := c.Args[name].(string); ok {
			add(text)
		}
	}
	return list
}

// hosts lists the hosts that words name: in URLs, and as user@host or host:path.
func (c Call) hosts() []string {
	var list []string
	add := func(word string) {
		_, rest, isURL := strings.Cut(word, "://")
		if !isURL {
			rest = word
		}
		rest, _, _ = strings.Cut(rest, "/")
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = rest[at+1:]
		}
		rest, _, _ = strings.Cut(rest, "?")
		if !strings.HasPrefix(rest, "[") {
			rest, _, _ = strings.Cut(rest, ":")
		} else if end := strings.IndexByte(rest, ']'); end > 0 {
			rest = rest[1:end]
		}
		if rest != "" && (isURL || strings.ContainsAny(rest, ".")) {
			list = append(list, rest)
		}
	}
	for _, argv := range c.Argv {
		for _, word := range argv[1:] {
			add(word)
		}
	}
	if text, ok := c.Args["url"].(string); ok {
		add(text)
	}
	return list
}
