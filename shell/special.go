package shell

import "strings"

// special handles the carriers whose grammar no row can say.
func (w *walker) special(i int, c Call, sp *carrier, o options, rest []Word) {
	args := c.Args()
	switch sp.name {
	case "find":
		w.runFind(i, c, args)
	case "fd", "fdfind":
		w.runAfter(i, c, args, "-x --exec -X --exec-batch", ";")
	case "parallel", "sem":
		w.runParallel(i, c, args)
	case "watch":
		if o.has("x exec") {
			w.inner(i, c, rest, nil)
		} else {
			w.runText(i, c, rest, Sh, w.sc.newProcess())
		}
	case "trap":
		w.runTrap(i, c, rest)
	case "su", "runuser":
		w.runSu(i, c, o, rest, args)
	case "flock":
		w.runFlock(i, c, o, rest, args)
	case "git":
		w.runGit(i, c, args)
	case "tmux":
		w.runTmux(i, c, args)
	case "screen":
		w.inner(i, c, rest, nil)
	case "start-stop-daemon":
		// --start is no abbreviation of --startas.
		kept := make([]Word, 0, len(args))
		for _, a := range args {
			if a.Value != "--start" {
				kept = append(kept, a)
			}
		}
		o = sp.options(kept)
		rest = kept[o.operand:]
		if prog, ok := o.value("x exec a startas"); ok {
			w.inner(i, c, append([]Word{prog}, rest...), nil)
		}
	case "at", "batch":
		if text, ok := w.input(&c); ok {
			w.nested(text, fixedAt(c.Span.Start), Sh, Carrier{sp.name, i, ViaStdin}, w.sc.newProcess(), true)
		}
	case "hyperfine":
		for _, t := range append(o.values("p c prepare cleanup setup conclude"), rest...) {
			w.runText(i, c, []Word{t}, Sh, w.sc.newProcess())
		}
	case "npx":
		if text, ok := o.value("c call"); ok {
			w.runText(i, c, []Word{text}, Sh, w.sc.newProcess())
		}
	case "gdb":
		w.runAfter(i, c, args, "--args -args", "")
	case "perf", "rr", "direnv", "doppler", "mise", "nix", "conda", "uv", "poetry", "pipenv", "bundle", "sbx", "npm", "pnpm", "yarn",
		"watchexec":
		w.runSubcommand(i, c, args)
	case "bwrap":
		w.inner(i, c, afterBwrap(args), nil)
	}
}

// afterBwrap skips bubblewrap's options, of which many take two values.
func afterBwrap(args []Word) []Word {
	for k := 0; k < len(args); k++ {
		v := args[k].Value
		switch {
		case v == "--":
			return args[k+1:]
		case listed("--bind --ro-bind --dev-bind --bind-try --ro-bind-try --dev-bind-try --setenv --symlink --file --bind-data --ro-bind-data --chmod --bind-fd --ro-bind-fd", v):
			k += 2
		case listed("--chdir --unsetenv --proc --dev --tmpfs --mqueue --dir --hostname --uid --gid --exec-label --file-label --lock-file --sync-fd --block-fd --userns-block-fd --info-fd --json-status-fd --seccomp --add-seccomp-fd --perms --size --cap-add --cap-drop --userns --userns2 --pidns --args --argv0 --overlay-src --tmp-overlay --ro-overlay --remount-ro", v):
			k++
		case v == "--overlay":
			k += 3
		case !strings.HasPrefix(v, "--"):
			return args[k:]
		}
	}
	return nil
}

// runAfter runs the words behind one of the given options, up to a terminator.
func (w *walker) runAfter(i int, c Call, args []Word, names, end string) {
	for k, a := range args {
		if !a.Literal || !listed(names, a.Value) {
			continue
		}
		words := args[k+1:]
		for n, x := range words {
			if end != "" && x.Value == end {
				words = words[:n]
				break
			}
		}
		w.inner(i, c, words, func(in *Call) { in.More = true; in.PipeFrom, in.In = nil, nil })
		return
	}
}

// runFind runs what stands behind -exec, -execdir, -ok and -okdir, each up to
// its own ";" or "+".
func (w *walker) runFind(i int, c Call, args []Word) {
	for k := 0; k < len(args); k++ {
		switch args[k].Value {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		start := k + 1
		for k = start; k < len(args); k++ {
			if v := args[k].Value; v == ";" || v == "+" && k > start && args[k-1].Value == "{}" {
				break
			}
		}
		w.inner(i, c, args[start:min(k, len(args))], func(in *Call) { in.More = true; in.PipeFrom, in.In = nil, nil })
	}
}

// runParallel reads GNU parallel: options, a command template that a shell
// parses, and arguments behind ::: or from standard input.
func (w *walker) runParallel(i int, c Call, args []Word) {
	row := carrier{takes: "j a I P n N L d E S C colsep jobs arg-file max-args max-lines delimiter joblog results workdir wd tmpdir timeout retries delay sshlogin sshloginfile env tagstring load memfree nice halt"}
	o := row.options(args)
	words := args[o.operand:]
	var extra []Word
	for k, a := range words {
		if strings.HasPrefix(a.Value, ":::") {
			extra = words[k+1:]
			words = words[:k]
			break
		}
	}
	if len(words) == 0 {
		for _, x := range extra { // each argument is a command
			w.runText(i, c, []Word{x}, Sh, w.sc.newProcess())
		}
		if text, ok := w.input(&c); ok && len(extra) == 0 {
			w.nested(text, fixedAt(c.Span.Start), Sh, Carrier{"parallel", i, ViaStdin}, w.sc.newProcess(), true)
		}
		return
	}
	if len(words) == 1 && strings.ContainsAny(words[0].Value, " \t;|&<>()") {
		w.runText(i, c, words, Sh, w.sc.newProcess())
		return
	}
	all := append(words[:len(words):len(words)], extra...)
	w.inner(i, c, all, func(in *Call) { in.More = true; in.PipeFrom, in.In = nil, nil })
}

func (w *walker) runTrap(i int, c Call, rest []Word) {
	if len(rest) < 2 || rest[0].Value == "" && rest[0].Literal || rest[0].Value == "-" {
		return
	}
	saved := w.ctx
	w.trap = true
	w.runText(i, c, rest[:1], w.dialect, w.sc.child())
	w.ctx = saved
}

// runSu reads su and runuser: -c TEXT anywhere, also behind the user's name.
func (w *walker) runSu(i int, c Call, o options, rest, args []Word) {
	if text, ok := findOption(args, "-c", "--command", "--session-command"); ok {
		w.runText(i, c, []Word{text}, Sh, w.sc.newProcess())
		return
	}
	if o.has("u user") { // runuser -u USER [--] COMMAND
		w.inner(i, c, rest, nil)
	}
}

// findOption finds the value of an option wherever it stands.
func findOption(args []Word, short string, long ...string) (Word, bool) {
	for k, a := range args {
		v := a.Value
		if k+1 < len(args) && (v == short || len(v) > 2 && v[0] == '-' && v[1] != '-' && v[len(v)-1] == short[1]) {
			return args[k+1], true
		}
		for _, l := range long {
			if v == l && k+1 < len(args) {
				return args[k+1], true
			}
			if strings.HasPrefix(v, l+"=") {
				return tail(a, len(l)+1), true
			}
		}
	}
	return Word{}, false
}

func (w *walker) runFlock(i int, c Call, o options, rest, args []Word) {
	if text, ok := findOption(args, "-c", "--command"); ok {
		w.runText(i, c, []Word{text}, Sh, w.sc.newProcess())
		return
	}
	if len(rest) > 1 {
		w.inner(i, c, rest[1:], nil)
	}
}

// runGit follows the places where git runs program text of the command line:
// aliases with !, submodule foreach, bisect run, rebase --exec, filter-branch.
func (w *walker) runGit(i int, c Call, args []Word) {
	row := carrier{takes: "C c git-dir work-tree namespace exec-path super-prefix config-env attr-source list-cmds"}
	o := row.options(args)
	for _, v := range o.values("c") {
		name, text, _ := strings.Cut(v.Value, "=")
		if strings.HasPrefix(name, "alias.") && strings.HasPrefix(text, "!") {
			w.runText(i, c, []Word{tail(v, len(name)+2)}, Sh, w.sc.newProcess())
		}
	}
	rest := args[o.operand:]
	if len(rest) < 2 {
		return
	}
	switch rest[0].Value {
	case "bisect":
		if rest[1].Value == "run" {
			w.inner(i, c, rest[2:], nil)
		}
	case "submodule":
		for k, a := range rest {
			if a.Value == "foreach" {
				words := rest[k+1:]
				for len(words) > 0 && strings.HasPrefix(words[0].Value, "-") {
					words = words[1:]
				}
				w.runText(i, c, words, Sh, w.sc.newProcess())
				return
			}
		}
	case "rebase":
		if text, ok := findOption(rest, "-x", "--exec"); ok {
			w.runText(i, c, []Word{text}, Sh, w.sc.newProcess())
		}
	case "filter-branch":
		for k, a := range rest {
			if strings.HasSuffix(a.Value, "-filter") && k+1 < len(rest) {
				w.runText(i, c, rest[k+1:k+2], Sh, w.sc.newProcess())
			}
		}
	}
}

// runTmux runs the shell command at the end of new-session, new-window,
// split-window, respawn-*, run-shell, if-shell and pipe-pane.
func (w *walker) runTmux(i int, c Call, args []Word) {
	row := carrier{takes: "L S f c T"}
	o := row.options(args)
	rest := args[o.operand:]
	if text, ok := o.value("c"); ok {
		w.runText(i, c, []Word{text}, Sh, w.sc.newProcess())
	}
	if len(rest) == 0 {
		return
	}
	switch rest[0].Value {
	case "new-session", "new", "new-window", "neww", "split-window", "splitw", "respawn-pane", "respawn-window", "run-shell", "run",
		"if-shell", "if", "pipe-pane", "pipep", "popup", "display-popup", "send-keys":
	default:
		return
	}
	row = carrier{takes: "s n c e t F x y f l d p h w T b B S"}
	if rest[0].Value == "new-session" || rest[0].Value == "new" || rest[0].Value == "new-window" || rest[0].Value == "neww" || strings.HasPrefix(rest[0].Value, "run") {
		row.takes = "s n c e t F x y f"
	}
	if rest[0].Value == "send-keys" {
		return // keys, not a command
	}
	o = row.options(rest[1:])
	command := rest[1+o.operand:]
	for k := range command {
		if command[k].Value == ";" { // the next command of tmux itself
			command = command[:k]
			break
		}
	}
	w.runText(i, c, command, Sh, w.sc.newProcess())
}

// runSubcommand follows `TOOL run COMMAND…` and its relatives.
func (w *walker) runSubcommand(i int, c Call, args []Word) {
	row, ok := runnerOf(c.Name())
	if !ok {
		return
	}
	// Everything behind -- is the command, whatever stands before it.
	sub := ""
	for k, a := range args {
		if sub == "" && !strings.HasPrefix(a.Value, "-") {
			sub = a.Value
			if row.subs != "" && !listed(row.subs, sub) {
				return
			}
			opts := carrier{takes: row.takes}
			o := opts.options(args[k+1:])
			words := args[k+1+o.operand:]
			if t, ok := o.value(row.text); ok {
				w.runText(i, c, []Word{t}, Sh, w.sc.newProcess())
				return
			}
			if row.skip > 0 {
				words = words[min(row.skip, len(words)):]
			}
			if len(words) > 0 && words[0].Value == "--" {
				words = words[1:]
			}
			if row.dashOnly && !hasDashes(args[k+1:k+1+o.operand]) {
				return
			}
			if sub == row.textSub {
				w.runText(i, c, words, Bash, w.sc.child())
				return
			}
			w.inner(i, c, words, nil)
			return
		}
		if a.Value == "--" {
			w.inner(i, c, args[k+1:], nil)
			return
		}
	}
}

func hasDashes(args []Word) bool {
	return len(args) > 0 && args[len(args)-1].Value == "--"
}

// runner is a tool with a subcommand that runs another command.
type runner struct {
	subs     string // the subcommands; empty: the command follows the options
	takes    string
	text     string // options whose value is program text
	textSub  string // the subcommand whose operands are program text
	skip     int
	dashOnly bool // only behind --
}

func runnerOf(name string) (runner, bool) {
	switch name {
	case "perf":
		return runner{subs: "stat record trace bench", takes: "e o p t C a r i F c d event output repeat"}, true
	case "rr":
		return runner{subs: "record"}, true
	case "direnv":
		return runner{subs: "exec", skip: 1}, true
	case "doppler":
		return runner{subs: "run", takes: "p c project config command", text: "command"}, true
	case "mise":
		return runner{subs: "exec x", takes: "c command C cd", text: "c command", dashOnly: true}, true
	case "nix":
		return runner{subs: "develop shell", takes: "c command", dashOnly: true}, true
	case "conda":
		return runner{subs: "run", takes: "n p name prefix cwd"}, true
	case "uv":
		return runner{subs: "run", takes: "p python with with-editable with-requirements extra group env-file directory project index-url m module"}, true
	case "poetry", "pipenv":
		return runner{subs: "run", takes: "C P directory project"}, true
	case "bundle":
		return runner{subs: "exec e"}, true
	case "sbx":
		return runner{subs: "exec run", textSub: "run", takes: "workspace backend timeout result allow-write allow-read hide env accept-gap net network"}, true
	case "npm", "pnpm", "yarn":
		return runner{subs: "exec x", takes: "c call p package w workspace", text: "c call", dashOnly: true}, true
	case "watchexec":
		return runner{takes: "e w i f d s N exts watch ignore filter delay signal"}, true
	}
	return runner{}, false
}
