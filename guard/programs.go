package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// programOption is an option whose value is a command that the tool will run.
type programOption struct {
	program string
	short   string // one-letter options
	long    string // long options, blank-separated
	takes   string // other one-letter options with a value
}

// programOptions is looked through after a switch on the name.
var programOptions = [...]programOption{
	{"tar", "IF", "to-command use-compress-program info-script new-volume-script rsh-command rmt-command checkpoint-action", "fCTXbgNLVK"},
	{"rg", "", "pre hostname-bin", "eftgTABCmM"},
	{"sort", "", "compress-program", "ktSTo"},
	{"man", "P", "pager", "CLMRmprS"},
	{"git", "ux", "upload-pack receive-pack exec open-files-in-pager extcmd", "Cc"},
	{"ssh", "", "", "bcDEeFIiJLlmoOpQRSWw"},
	{"rsync", "e", "rsh", "fBMT"},
	{"socat", "", "", ""},
	{"nc", "ce", "exec sh-exec lua-exec", "iIqmMOpPsTVwWxXw"},
	{"nodemon", "x", "exec", "wei"},
	{"concurrently", "", "", "nc"},
	{"xterm", "e", "", "TnfgB"},
}

// options judges option values, operands and input that a tool gives to a
// shell, as far as they are literal.
func (k *checker) options(i int, c *shell.Call, name string) {
	switch name {
	case "tar", "rg", "sort", "man", "git", "rsync", "nodemon":
		k.optionText(i, c, name)
		if name == "git" {
			k.gitConfig(i, c)
		}
	case "gtar", "bsdtar":
		k.optionText(i, c, "tar")
	case "nc", "ncat", "netcat":
		k.optionText(i, c, "nc")
	case "ssh", "scp", "sftp":
		k.sshOptions(i, c)
	case "socat":
		for _, w := range c.Args() {
			for _, prefix := range [...]string{"EXEC:", "SYSTEM:", "SHELL:"} {
				if text, ok := cutFold(known(&w), prefix); ok {
					k.runText(i, c, c.Dir, text)
				}
			}
		}
	case "concurrently":
		for _, w := range c.Args() {
			if strings.IndexByte(w.Value, ' ') > 0 {
				k.runText(i, c, c.Dir, w.Value)
			}
		}
	case "sed", "gsed":
		k.sed(i, c)
	case "vim", "vi", "nvim", "ex", "ed", "view", "gvim":
		k.editor(i, c)
	case "go", "gcc", "g++", "cc", "clang":
		k.after(i, c, "-exec", "-wrapper", "-toolexec")
	case "gdb":
		k.gdb(i, c)
	case "less", "more", "most":
		for _, w := range c.Args() {
			if text, ok := strings.CutPrefix(known(&w), "+!"); ok {
				k.runText(i, c, c.Dir, text)
			}
		}
	case "make", "gmake":
		k.makefile(i, c)
		for _, w := range c.Args() {
			if text, ok := strings.CutPrefix(known(&w), "SHELL="); ok {
				k.runText(i, c, c.Dir, text)
			}
		}
	case "sqlite3", "psql", "mysql", "mariadb":
		k.clientShell(i, c)
	case "m4":
		if text, ok := k.input(c); ok {
			k.macros(i, c, text)
		}
	case "tmux", "screen":
		k.typed(i, c)
	case "crontab":
		if text, ok := k.input(c); ok {
			k.crontab(i, c, text)
		}
	}
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// optionText judges the values of the options that the table names.
func (k *checker) optionText(i int, c *shell.Call, name string) {
	var row *programOption
	for n := range programOptions {
		if programOptions[n].program == name {
			row = &programOptions[n]
		}
	}
	if row == nil {
		return
	}
	o := options{args: c.Args(), takes: row.short + row.takes, long: row.long}
	for a, ok := o.next(); ok; a, ok = o.next() {
		if a.operand() || a.value == nil || !a.long && strings.Contains(row.takes, a.name) {
			continue
		}
		v := known(a.value)
		switch {
		case !a.long && strings.Contains(row.short, a.name), a.long && abbreviates(row.long, a.name) && a.name != "checkpoint-action":
			k.runText(i, c, c.Dir, v)
		case strings.HasPrefix(a.name, "checkpoint-a"):
			if text, ok := strings.CutPrefix(v, "exec="); ok {
				k.runText(i, c, c.Dir, text)
			}
		}
	}
}

// abbreviates reports whether a name is the beginning of one of a list.
func abbreviates(list, name string) bool {
	for list != "" && len(name) > 2 {
		var head string
		head, list, _ = strings.Cut(list, " ")
		if strings.HasPrefix(head, name) {
			return true
		}
	}
	return false
}

// gitConfig judges git -c NAME=COMMAND of names that git runs.
func (k *checker) gitConfig(i int, c *shell.Call) {
	args := c.Args()
	for j := range args {
		if args[j].Value != "-c" || j+1 >= len(args) {
			continue
		}
		name, text, _ := strings.Cut(known(&args[j+1]), "=")
		switch name = strings.ToLower(name); name {
		case "core.pager", "core.sshcommand", "core.editor", "core.fsmonitor", "core.askpass", "core.gitproxy", "diff.external", "sequence.editor",
			"credential.helper", "gpg.program", "interactive.difffilter", "pager.log", "pager.diff", "pager.show":
			k.runText(i, c, c.Dir, strings.TrimPrefix(text, "!"))
		default:
			if strings.HasSuffix(name, ".command") || strings.HasSuffix(name, ".textconv") || strings.HasSuffix(name, ".cmd") || strings.HasPrefix(name, "filter.") {
				k.runText(i, c, c.Dir, text)
			}
		}
	}
}

// sshOptions judges commands that run on this side of a connection.
func (k *checker) sshOptions(i int, c *shell.Call) {
	o := options{args: c.Args(), takes: "bcDEeFIiJLlmoOpQRSWw", stop: true}
	for a, ok := o.next(); ok; a, ok = o.next() {
		if a.name != "o" || a.value == nil {
			continue
		}
		name, text, found := strings.Cut(strings.TrimSpace(known(a.value)), "=")
		if !found {
			name, text, _ = strings.Cut(name, " ")
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "proxycommand", "localcommand", "knownhostscommand":
			k.runText(i, c, c.Dir, text)
		}
	}
}

// after judges the word behind an option that is spelled with one dash.
func (k *checker) after(i int, c *shell.Call, names ...string) {
	args := c.Args()
	for j := range args {
		v := known(&args[j])
		for _, name := range names {
			text, ok := strings.CutPrefix(v, name+"=")
			if v == name && j+1 < len(args) {
				text, ok = known(&args[j+1]), true
			}
			if !ok {
				continue
			}
			k.runText(i, c, c.Dir, text)
		}
	}
}

// gdb judges the commands that are given with -ex.
func (k *checker) gdb(i int, c *shell.Call) {
	args := c.Args()
	for j := range args {
		v := known(&args[j])
		_, text, attached := strings.Cut(v, "=")
		switch name := strings.TrimLeft(v, "-"); {
		case j+1 < len(args) && listed("ex iex eval-command init-eval-command", name) && name != v:
			text = known(&args[j+1])
		case attached && (strings.HasPrefix(name, "ex=") || strings.HasPrefix(name, "iex=") || strings.HasPrefix(name, "eval-command=")):
		default:
			continue
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		switch {
		case strings.HasPrefix(verb, "!"):
			k.runText(i, c, c.Dir, text[1:])
		case listed("shell pipe make", verb):
			k.runText(i, c, c.Dir, strings.TrimLeft(rest, "|"))
		default:
			k.otherCode(i, c, verb, rest)
		}
	}
}

// otherCode judges code that a debugger or editor runs in another language.
func (k *checker) otherCode(i int, c *shell.Call, verb, text string) {
	name := ""
	switch strings.TrimRight(verb, "3x") {
	case "py", "python", "pi", "python-interactive":
		name = "python"
	case "lua", "luado":
		name = "lua"
	case "rub", "ruby":
		name = "ruby"
	case "pe", "perl":
		name = "perl"
	case "tcl":
		name = "tclsh"
	case "call", "print", "p", "echo", "let", "eval":
		name = "lua" // f("text") is read alike
	default:
		return
	}
	if in, ok := languageOf(name); ok {
		k.scan(i, c, in.lang, text)
	}
}

// sed judges the e command of GNU sed.
func (k *checker) sed(i int, c *shell.Call) {
	o := options{args: c.Args(), takes: "efl", long: "expression file line-length"}
	script := false
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand() && !script:
			script = true
			k.sedScript(i, c, known(a.value))
		case a.is('e', "expression") && a.value != nil:
			script = true
			k.sedScript(i, c, known(a.value))
		case a.is('f', "file"):
			script = true
		}
	}
}

func (k *checker) sedScript(i int, c *shell.Call, script string) {
	for _, line := range strings.Split(script, "\n") {
		for n := 0; n < len(line); n++ {
			if n > 0 && strings.IndexByte(";{", line[n-1]) < 0 {
				continue
			}
			rest := strings.TrimLeft(line[n:], " \t{;")
			rest = strings.TrimLeft(rest, "0123456789,$~+! ")
			if text, ok := strings.CutPrefix(rest, "e "); ok {
				k.runText(i, c, c.Dir, text)
				break
			}
			if text, ok := evaluatedBy(rest); ok {
				k.runText(i, c, c.Dir, text)
				break
			}
		}
	}
}

// evaluatedBy is the replacement of s/…/…/e, which GNU sed runs.
func evaluatedBy(command string) (string, bool) {
	if len(command) < 4 || command[0] != 's' {
		return "", false
	}
	delim, part := command[1], 0
	var text strings.Builder
	for n := 2; n < len(command); n++ {
		switch {
		case command[n] == '\\' && n+1 < len(command):
			n++
			if part == 1 && command[n] != delim {
				text.WriteByte('\\')
			}
			if part == 1 {
				text.WriteByte(command[n])
			}
		case command[n] == delim:
			if part++; part == 2 {
				flags, _, _ := strings.Cut(command[n+1:], ";")
				return text.String(), strings.IndexByte(strings.TrimRight(flags, " }"), 'e') >= 0
			}
		case part == 1:
			text.WriteByte(command[n])
		}
	}
	return "", false
}

// editor judges !COMMAND given to vi and ed.
func (k *checker) editor(i int, c *shell.Call) {
	args := c.Args()
	for j := range args {
		v := known(&args[j])
		text, ok := strings.CutPrefix(v, "+")
		if (v == "-c" || v == "--cmd" || v == "-S") && j+1 < len(args) {
			text, ok = known(&args[j+1]), true
		}
		if ok {
			k.escape(i, c, text)
		}
	}
	if text, ok := k.input(c); ok {
		for _, line := range strings.Split(text, "\n") {
			k.escape(i, c, line)
		}
	}
}

// escape judges :!COMMAND.
func (k *checker) escape(i int, c *shell.Call, text string) {
	text = strings.TrimLeft(text, ": \t%,.$0123456789")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "silent"), " ")
	if text, ok := strings.CutPrefix(text, "!"); ok {
		k.runText(i, c, c.Dir, strings.TrimPrefix(text, "!"))
		return
	}
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "":
	case "exe", "execute": // exe "!rm"
		if n := strings.IndexAny(rest, "'\""); n >= 0 {
			k.escape(i, c, strings.Trim(rest[n:], "'\" "))
		}
	case "term", "terminal", "te":
		k.runText(i, c, c.Dir, rest)
	default:
		k.otherCode(i, c, verb, rest)
	}
}

// clientShell judges the shell escapes of database clients.
func (k *checker) clientShell(i int, c *shell.Call) {
	for _, w := range c.Args() {
		for _, prefix := range [...]string{".shell ", ".system ", `\! `, `\!`, "system "} {
			if text, ok := strings.CutPrefix(strings.TrimSpace(known(&w)), prefix); ok {
				k.runText(i, c, c.Dir, text)
				break
			}
		}
	}
}

func (k *checker) macros(i int, c *shell.Call, text string) {
	for {
		_, rest, ok := strings.Cut(text, "syscmd(")
		if !ok {
			return
		}
		text = rest
		if end := strings.IndexByte(rest, ')'); end >= 0 {
			k.runText(i, c, c.Dir, strings.Trim(rest[:end], "`'"))
		}
	}
}

// typed judges text that tmux send-keys or screen -X stuff types into a shell.
func (k *checker) typed(i int, c *shell.Call) {
	typing := false
	for _, w := range c.Args() {
		v := known(&w)
		switch {
		case v == "send-keys" || v == "send" || v == "stuff":
			typing = true
		case typing && strings.IndexByte(v, ' ') > 0:
			k.runText(i, c, c.Dir, strings.NewReplacer(`\n`, "\n", "^M", "\n").Replace(v))
		}
	}
}

// makefile judges recipes given on standard input or by --eval.
func (k *checker) makefile(i int, c *shell.Call) {
	text, _ := k.input(c)
	for _, w := range c.Args() {
		if rule, ok := strings.CutPrefix(known(&w), "--eval="); ok {
			if _, recipe, ok := strings.Cut(rule, ";"); ok {
				k.runText(i, c, c.Dir, recipe)
			}
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			k.runText(i, c, c.Dir, strings.TrimLeft(recipe, "@-+ "))
		}
	}
}

// crontab judges the commands of a crontab on standard input.
func (k *checker) crontab(i int, c *shell.Call, text string) {
	for _, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		skip := 5
		if len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
			skip = 1
		}
		if len(fields) > skip && !strings.HasPrefix(fields[0], "#") {
			k.runText(i, c, c.Dir, strings.Join(fields[skip:], " "))
		}
	}
}

// assigned judges variables that name a program which the command, or a later
// one, will run.
func (k *checker) assigned(i int, c *shell.Call) {
	if len(c.Words) == 0 {
		return
	}
	for j := range c.Assigns {
		a := &c.Assigns[j]
		switch a.Name {
		case "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "PAGER", "MANPAGER", "EDITOR", "VISUAL",
			"BROWSER", "RSYNC_RSH", "PROMPT_COMMAND":
			if v, ok := certain(k.s, &a.Value); ok {
				k.runText(i, c, c.Dir, v)
			}
		case "LESSOPEN":
			if v, ok := certain(k.s, &a.Value); ok {
				k.runText(i, c, c.Dir, strings.TrimLeft(v, "|- "))
			}
		}
	}
}
