package shell

import "strings"

// special handles the carriers whose grammar no row can say.
func (w *walker) special(i int, c Call, sp *carrier, o options, rest []Word) {
	args := c.Args()
	switch sp.name {
	case "find":
		w.runFind(i, c, args)
	case "fd", "fdfind":
		w.runAfter(i, c, withHolder(args), "-x --exec -X --exec-batch", ";")
	case "parallel", "sem":
		w.runParallel(i, c, args)
	case "watch":
		if o.has("x exec") {
			w.inner(i, c, rest, nil)
		} else {
			w.runText(i, c, rest, Sh, w.sc.newProcess())
		}
	case "source", ".":
		w.runSource(i, c, rest)
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
	case "cmake":
		w.runCMake(i, c, args)
	case "ip": // ip netns exec NAME COMMAND…, ip vrf exec NAME COMMAND…
		for k, a := range args {
			if k > 0 && k+2 < len(args) && a.Value == "exec" && listed("netns vrf", args[k-1].Value) {
				w.inner(i, c, args[k+2:], nil)
				break
			}
		}
	case "xterm", "konsole", "x-terminal-emulator", "urxvt", "rxvt", "lxterminal", "xfce4-terminal", "terminator", "st", "alacritty", "foot", "wezterm", "kitty":
		w.runTerminal(i, c, args)
	case "entr":
		if o.has("s") {
			w.runText(i, c, rest[:min(1, len(rest))], Sh, w.sc.newProcess())
		} else {
			w.inner(i, c, rest, nil)
		}
	case "setarch":
		w.runSetarch(i, c, args)
	case "sg": // sg GROUP [-c] TEXT
		if len(args) > 1 {
			w.runText(i, c, args[len(args)-1:], Sh, w.sc.newProcess())
		}
	case "capsh": // what stands behind -- or == is given to bash
		for k, a := range args {
			if a.Value == "--" || a.Value == "==" {
				w.inner(i, c, append([]Word{literalWord("bash", a.Span)}, args[k+1:]...), nil)
				break
			}
		}
	case "pee", "mispipe", "mprocs", "concurrently": // each operand is a command line
		for _, a := range args {
			if !strings.HasPrefix(a.Value, "-") {
				w.runText(i, c, []Word{a}, Sh, w.sc.newProcess())
			}
		}
	case "reflex":
		w.runAfter(i, c, args, "--", "")
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

// runCMake reads cmake -E, whose tools are small programs and carriers.
func (w *walker) runCMake(i int, c Call, args []Word) {
	if len(args) < 3 || args[0].Value != "-E" {
		return
	}
	rest := args[2:]
	switch args[1].Value {
	case "env":
		env, _ := lookupCarrier("env")
		w.carry(i, Call{Words: args[1:], Span: c.Span, PipeFrom: c.PipeFrom, In: c.In}, env)
	case "time":
		w.inner(i, c, rest, nil)
	case "rm":
		w.inner(i, c, args[1:], nil)
	case "remove_directory":
		at := args[1].Span
		w.inner(i, c, append([]Word{literalWord("rm", at), literalWord("-r", at)}, rest...), nil)
	}
}

// runTerminal reads a terminal's -e COMMAND…, -x COMMAND… and -- COMMAND…; one
// word may be a command line.
func (w *walker) runTerminal(i int, c Call, args []Word) {
	for k, a := range args {
		if !listed("-e -x --", a.Value) && !(k == 0 && !strings.HasPrefix(a.Value, "-") && listed("kitty foot st", c.Name())) {
			continue
		}
		if strings.HasPrefix(a.Value, "-") {
			k++
		}
		if k+1 == len(args) {
			w.runText(i, c, args[k:], Sh, w.sc.newProcess())
		} else {
			w.inner(i, c, args[k:], nil)
		}
		return
	}
}

// runSetarch reads setarch [ARCH] [OPTION…] [PROGRAM…]; ARCH may be left out.
func (w *walker) runSetarch(i int, c Call, args []Word) {
	if len(args) > 0 && (!args[0].Literal || listed("linux32 linux64 uname26 i386 i486 i586 i686 athlon x86_64 aarch64 arm armv7l armv8l ppc ppc32 ppc64 ppc64le s390 s390x mips mips64 sparc sparc64 riscv64 loongarch64", args[0].Value)) {
		args = args[1:]
	}
	row := carrier{takes: "uname-2.6"}
	o := row.options(args)
	w.inner(i, c, args[o.operand:], nil)
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

// withHolder appends the {} that fd appends when its command has none.
func withHolder(args []Word) []Word {
	for k, a := range args {
		if !listed("-x --exec -X --exec-batch", a.Value) {
			continue
		}
		for n, x := range args[k+1:] {
			switch x.Value {
			case "{}", "{/}", "{//}", "{.}", "{/.}", ";":
				if x.Value != ";" {
					return args
				}
				return args[:k+1+n]
			}
		}
		if k+1 < len(args) {
			at := args[len(args)-1].Span
			return append(args[:len(args):len(args)], Word{Value: "{}", Prefix: "{}", Literal: true, Span: at})
		}
	}
	return args
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
	input, fed := w.input(&c)
	if len(words) == 0 {
		for _, x := range extra { // each argument is a command
			w.runText(i, c, []Word{x}, Sh, w.sc.newProcess())
		}
		if fed && len(extra) == 0 {
			w.nested(input, fixedAt(c.Span.Start), Sh, Carrier{"parallel", i, ViaStdin}, w.sc.newProcess(), true)
		}
		return
	}
	if fed && len(extra) == 0 {
		for _, line := range strings.Split(strings.TrimSpace(input), "\n") {
			extra = append(extra, Word{Value: line, Prefix: line, Literal: true, Span: c.Span})
		}
	}
	isText := len(words) == 1 && strings.ContainsAny(words[0].Value, " \t;|&<>()")
	w.each(fill(words, extra, "{}"), func(words []Word) {
		if isText {
			w.runText(i, c, words, Sh, w.sc.newProcess())
		} else {
			w.inner(i, c, words, func(in *Call) { in.More = true; in.PipeFrom, in.In = nil, nil })
		}
	})
}

// each runs the copies of a command, as far as repeated walks are allowed.
func (w *walker) each(copies [][]Word, run func([]Word)) {
	for k, words := range copies {
		if k == 0 {
			run(words)
			continue
		}
		if w.r.spent() {
			w.unknown(words[0].Span, "too many commands")
			return
		}
		done := w.r.counting()
		run(words)
		done()
	}
}

// maxFilled bounds the copies of a command that are made for its arguments.
const maxFilled = 16

// fill puts arguments in the place of a mark, one command for each; without it in
// the words, and with too many of them, they all stand at the end of one.
func fill(words, extra []Word, mark string) [][]Word {
	holds := false
	for _, a := range words {
		holds = holds || strings.Contains(a.Value, mark)
	}
	if !holds || len(extra) == 0 || len(extra) > maxFilled {
		return [][]Word{append(words[:len(words):len(words)], extra...)}
	}
	out := make([][]Word, 0, len(extra))
	for _, x := range extra {
		filled := append([]Word{}, words...)
		for k := range filled {
			a := &filled[k]
			if v := strings.ReplaceAll(a.Value, mark, x.Value); v != a.Value {
				*a = Word{Value: v, Literal: a.Literal && x.Literal, Glob: a.Glob || x.Glob, Span: a.Span}
				if a.Literal {
					a.Prefix = v
				}
			}
		}
		out = append(out, filled)
	}
	return out
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

// runSource reads what a substitution, or standard input, gives to this shell.
func (w *walker) runSource(i int, c Call, rest []Word) {
	switch {
	case len(rest) == 0:
	case rest[0].Proc == '<':
		w.runPrinted(i, c, rest[0], w.dialect, w.sc)
	case rest[0].Value == "/dev/stdin" || rest[0].Value == "/dev/fd/0" || rest[0].Value == "/proc/self/fd/0":
		w.runInput(i, c, w.dialect, w.sc)
	}
}

// runPrinted runs what the commands of a process substitution print.
func (w *walker) runPrinted(i int, c Call, from Word, d Dialect, sc *scope) {
	if text, ok := w.output(from.Subs); ok {
		saved := w.ctx
		w.pipeFrom, w.in = nil, nil
		w.nested(text, fixedAt(from.Span.Start), d, Carrier{commandName(&c), i, ViaStdin}, sc, true)
		w.ctx = saved
	}
}

// feeds runs the shells in >(…) on what the call writes to them.
func (w *walker) feeds(i int, to *Word) {
	for _, j := range to.Subs {
		c := w.r.s.Calls[j]
		if sp, ok := lookupCarrier(commandName(&c)); ok && sp.kind == runsShell && c.PipeFrom == nil && c.In == nil {
			c.PipeFrom = []int{i}
			o := sp.options(c.Args())
			w.runShell(j, c, sp, o, c.Args()[o.operand:])
		}
	}
}

// runSu reads su and runuser: -c TEXT anywhere, also behind the user's name.
func (w *walker) runSu(i int, c Call, o options, rest, args []Word) {
	if text, ok := findOption(args, "-c", "--command", "--session-command"); ok {
		w.runText(i, c, []Word{text}, Sh, w.sc.newProcess())
		return
	}
	if o.has("u user") { // runuser -u USER [--] COMMAND
		w.inner(i, c, rest, nil)
		return
	}
	w.shellOnInput(i, c)
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
