package shell

import (
	"sort"
	"strings"
)

// runner is a tool with a subcommand that runs another command.
type runner struct {
	name     string
	global   string // options before the subcommand that take a value
	subs     string // the subcommands; empty: the command follows the options
	takes    string // options of the subcommand that take a value
	text     string // options whose value is program text
	textSub  string // the subcommand whose operands are program text
	skip     int    // operands before the command
	dashOnly bool   // only behind --
	behind   bool   // behind the first --, whatever stands before it
}

// runners is sorted by name. Sources: the documentation of each tool.
var runners = []runner{
	{name: "asciinema", subs: "rec", takes: "c command t title", text: "c command", dashOnly: true},
	{name: "asdf", subs: "exec"},
	{name: "aws-vault", subs: "exec", takes: "d duration region mfa-token t prompt", skip: 1},
	{name: "bundle", subs: "exec e"},
	{name: "chamber", subs: "exec", behind: true},
	{name: "conda", subs: "run", takes: "n p name prefix cwd"},
	{name: "direnv", subs: "exec", skip: 1},
	{name: "doppler", subs: "run", takes: "p c project config command", text: "command"},
	{name: "dotenvx", subs: "run", takes: "f env-file e env"},
	{name: "fnm", subs: "exec", takes: "using"},
	{name: "goenv", subs: "exec"},
	{name: "guix", subs: "shell environment", behind: true},
	{name: "hatch", global: "e env", subs: "run"},
	{name: "infisical", subs: "run", takes: "env path projectId c command", text: "c command"},
	{name: "lerna", subs: "exec", behind: true},
	{name: "mamba", subs: "run", takes: "n p name prefix cwd"},
	{name: "micromamba", subs: "run", takes: "n p name prefix cwd"},
	{name: "mise", subs: "exec x", takes: "c command C cd", text: "c command", dashOnly: true},
	{name: "nix", subs: "develop shell", takes: "c command", dashOnly: true},
	{name: "nodenv", subs: "exec"},
	{name: "npm", global: "prefix C w workspace", subs: "exec x", takes: "c call p package w workspace", text: "c call", dashOnly: true},
	{name: "nvm", subs: "exec", skip: 1},
	{name: "nx", subs: "exec", behind: true},
	{name: "op", global: "account", subs: "run", takes: "env-file account"},
	{name: "pdm", global: "p project", subs: "run", takes: "s site-packages p project"},
	{name: "perf", subs: "stat record trace bench", takes: "e o p t C a r i F c d event output repeat"},
	{name: "pipenv", subs: "run", takes: "C P directory project"},
	{name: "pixi", subs: "run", takes: "e environment manifest-path"},
	{name: "pnpm", global: "C dir filter F", subs: "exec", takes: "c call", text: "c call"},
	{name: "poetry", global: "C P directory project", subs: "run", takes: "C P directory project"},
	{name: "pyenv", subs: "exec"},
	{name: "rbenv", subs: "exec"},
	{name: "rr", subs: "record"},
	{name: "rustup", subs: "run", skip: 1},
	{name: "rvm", subs: "exec do"},
	{name: "rye", subs: "run"},
	{name: "sbx", subs: "exec run", textSub: "run", takes: "workspace backend timeout result allow-write allow-read hide env accept-gap net network"},
	{name: "scl", subs: "enable", behind: true},
	{name: "sops", subs: "exec-env exec-file", textSub: "exec-env exec-file", skip: 1},
	{name: "teller", subs: "run", takes: "c config"},
	{name: "uv", subs: "run", takes: "p python with with-editable with-requirements extra group env-file directory project index-url m module"},
	{name: "volta", subs: "run", takes: "node npm yarn"},
	{name: "watchexec", takes: "e w i f d s N exts watch ignore filter delay signal"},
	{name: "yarn", global: "cwd", subs: "exec", takes: "c call", text: "c call"},
	{name: "zellij", subs: "run", takes: "d direction n name cwd"},
}

// runSubcommand follows `TOOL run COMMAND…` and its relatives.
func (w *walker) runSubcommand(i int, c Call, name string, args []Word) {
	k := sort.Search(len(runners), func(k int) bool { return runners[k].name >= name })
	if k == len(runners) || runners[k].name != name {
		return
	}
	row := &runners[k]
	if row.subs == "" {
		w.runOf(i, c, row, "", args)
		return
	}
	if row.global != "" {
		o := (&carrier{takes: row.global}).options(args)
		args = args[o.operand:]
	}
	// Everything behind -- is the command, whatever stands before it.
	for k, a := range args {
		switch {
		case a.Value == "--":
			w.inner(i, c, args[k+1:], nil)
			return
		case strings.HasPrefix(a.Value, "-"):
		case listed(row.subs, a.Value):
			w.runOf(i, c, row, a.Value, args[k+1:])
			return
		default:
			return
		}
	}
}

// runOf runs what stands behind a subcommand.
func (w *walker) runOf(i int, c Call, row *runner, sub string, args []Word) {
	if row.behind {
		for k, a := range args {
			if a.Value == "--" {
				w.inner(i, c, args[k+1:], nil)
				return
			}
		}
		if last := len(args) - 1; sub == "enable" && last > 0 { // scl enable NAME… TEXT
			w.runText(i, c, args[last:], Sh, w.sc.newProcess())
		}
		return
	}
	o := (&carrier{takes: row.takes}).options(args)
	if t, ok := o.value(row.text); ok {
		w.runText(i, c, []Word{t}, Sh, w.sc.newProcess())
		return
	}
	words := args[o.operand:]
	words = words[min(row.skip, len(words)):]
	if len(words) > 0 && words[0].Value == "--" {
		words = words[1:]
	}
	switch {
	case row.dashOnly && !hasDashes(args[:o.operand]):
	case listed(row.textSub, sub):
		w.runText(i, c, words, Bash, w.sc.child())
	default:
		w.inner(i, c, words, nil)
	}
}

func hasDashes(args []Word) bool {
	return len(args) > 0 && args[len(args)-1].Value == "--"
}
