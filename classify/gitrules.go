package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// git handles what depends on more than the subcommand's name.
func (c *classifier) git(r *reading, s special) {
	switch s {
	case gitCommand:
		c.gitGlobal(r)
	case gitDiff:
		if r.has("no-index") {
			c.everyOperand(r, 'r')
		}
	case gitRecord:
		if r.subName == "init" || r.subName == "clone" {
			c.everyOperandOutside(r)
		}
	case gitClone:
		c.gitClone(r)
	case gitFetch:
		c.transport(r)
	case gitRemoteOperand:
		c.transport(r)
		if len(r.ops) == 0 || !localRepository(r.op(0)) {
			c.addCall(netRepository, r.call)
		}
	case gitArchive:
		if w, ok := r.value("remote"); ok && !localRepository(w.Value) {
			c.addCall(netRepository, r.call)
		}
	case gitClean:
		if r.has("n dry-run") {
			return
		}
		c.addCall(deleteWork, r.call)
	case gitReset:
		if r.has("hard") {
			c.addCall(deleteWork, r.call)
		} else if r.has("merge keep") {
			c.addCall(writeTree, r.call)
		}
	case gitRemove:
		if !r.has("cached") {
			c.addCall(deleteWork, r.call)
		}
	case gitStash:
		c.gitStash(r)
	case gitCheckout:
		c.gitCheckout(r)
	case gitSwitch:
		if !r.has("c C create force-create orphan") {
			c.addCall(writeTree, r.call)
		}
	case gitRestore:
		if !r.has("staged S") || r.has("worktree W") {
			c.addCall(writeTree, r.call)
		}
	case gitSequence, gitApply:
		if s == gitApply && (!r.has("check stat numstat summary cached") || r.has("apply")) {
			c.addCall(writeTree, r.call)
		}
	case gitReadTree:
		if r.subName == "checkout-index" || r.has("u") {
			c.addCall(writeTree, r.call)
		}
	case gitSparse:
		switch r.op(0) {
		case "set", "add", "reapply", "disable", "init":
			c.addCall(writeTree, r.call)
		}
	case gitSubmodule:
		switch r.op(0) {
		case "update", "add":
			c.addCall(netRepository, r.call)
		case "deinit":
			c.addCall(deleteWork, r.call)
		}
	case gitSubtree:
		switch r.op(0) {
		case "add", "pull":
			c.addCall(netRepository, r.call)
			c.addCall(writeTree, r.call)
		case "push":
			c.addCall(netRepository, r.call)
		case "merge":
			c.addCall(writeTree, r.call)
		}
	case gitFormatPatch:
		if !r.has("stdout") {
			c.addCall(writeFile, r.call)
			if !r.has("o output-directory") {
				c.here(r)
			}
		}
	case gitBundle:
		if r.op(0) == "create" && len(r.ops) > 1 {
			c.addCall(writeFile, r.call)
			c.path(r, 'w', &r.words[r.ops[1]])
		}
	case gitConfigCommand:
		c.gitConfig(r)
	case gitCredential:
		if r.op(0) == "fill" {
			c.addCall(secretPrinted, r.call)
		}
	case gitGrep:
		if r.has("no-index") && len(r.ops) > 1 {
			for _, k := range r.ops[1:] {
				c.path(r, 'r', &r.words[k])
			}
		}
	}
}

// gitPlace notes that the repository itself lies outside: git -C ../x status
// reads it, git -C ../x clean -f changes it.
func (c *classifier) gitPlace(r *reading, from int) {
	if r.dir == "" || c.absolute(r.dir) != outside {
		return
	}
	by := readOutside
	for i := from; i < len(c.found); i++ {
		if id := c.found[i].Rule; id == rules[writeTree].id || id == rules[deleteWork].id {
			by = writeOutside
		}
	}
	if by == writeOutside || r.has("C git-dir work-tree") {
		c.add(by, r.call, c.s.Calls[r.call].Span, r.dir)
	}
}

func (c *classifier) everyOperandOutside(r *reading) {
	for _, k := range r.ops {
		c.path(r, 'o', &r.words[k])
	}
}

// gitGlobal reads the options before the subcommand: -c sets a key for once,
// -p and --exec-path run a program.
func (c *classifier) gitGlobal(r *reading) {
	for _, o := range r.opts {
		if o.word < 0 {
			continue
		}
		w := r.word(o)
		switch o.name {
		case "c":
			name, text, _ := strings.Cut(w.Value, "=")
			switch {
			case strings.HasPrefix(name, "alias."):
				if strings.HasPrefix(text, "!") {
					c.add(optionProgram, r.call, w.Span, w.Value)
				} else if fields := strings.Fields(text); len(fields) > 0 && name[len("alias."):] == r.subName {
					c.gitAlias(r, fields)
				}
			case gitRuns(name) && (!w.Literal || !harmlessValue(name, text)):
				c.add(optionProgram, r.call, w.Span, w.Value)
			}
		case "config-env":
			if name, _, _ := strings.Cut(w.Value, "="); gitRuns(name) || strings.HasPrefix(name, "alias.") {
				c.add(optionProgram, r.call, w.Span, w.Value)
			}
		case "exec-path":
			c.add(optionProgram, r.call, w.Span, w.Value)
		}
	}
}

// gitAlias reads the subcommand that an alias of the command line stands for.
func (c *classifier) gitAlias(r *reading, fields []string) {
	words := make([]shell.Word, 0, len(fields)+len(r.ops)+1)
	words = append(words, r.words[0])
	for _, f := range fields {
		words = append(words, shell.Word{Value: f, Prefix: f, Literal: true, Span: r.words[0].Span})
	}
	in := reading{call: r.call, dir: r.dir, name: "git", words: words}
	in.start()
	c.run(&in, lookup("git"))
}

// gitRuns reports whether the value of a configuration key is run.
func gitRuns(name string) bool {
	name = strings.ToLower(name)
	first, rest, _ := strings.Cut(name, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	middle := len(rest) > len(last)
	for i := range gitRunning {
		f, l, _ := strings.Cut(gitRunning[i], ".")
		if f != first {
			continue
		}
		l, star := strings.CutPrefix(l, "*.")
		if l == "*" || l == last && star == middle || strings.Contains(l, ".") && l == rest {
			return true
		}
	}
	return false
}

// harmlessValue reports whether a key that is run is given a usual program, or
// is switched off.
func harmlessValue(name, v string) bool {
	switch strings.ToLower(name) {
	case "credential.helper":
		helper, _, _ := strings.Cut(v, " ")
		return listed("store cache manager manager-core osxkeychain libsecret wincred gnome-keyring", helper) || v == ""
	case "gpg.program":
		return v == "gpg" || v == "gpg2"
	case "core.hookspath":
		return v == "/dev/null" || v == ""
	}
	return harmlessProgram(v)
}

func (c *classifier) gitClone(r *reading) {
	for _, o := range r.opts {
		if o.word >= 0 && (o.name == "c" || o.name == "config") {
			w := r.word(o)
			if name, text, _ := strings.Cut(w.Value, "="); gitRuns(name) && !harmlessValue(name, text) {
				c.add(optionProgram, r.call, w.Span, w.Value)
			}
		}
	}
	if len(r.ops) == 0 {
		return
	}
	source := &r.words[r.ops[0]]
	tree := r.op(1)
	if tree == "" {
		tree = strings.TrimSuffix(base(strings.TrimSuffix(source.Value, "/")), ".git")
		tree = tree[strings.LastIndexByte(tree, ':')+1:]
	}
	if !localRepository(source.Value) || !source.Literal {
		c.addCall(netRepository, r.call)
		c.saveTree(tree, r.dir, fromNetwork)
	} else {
		c.path(r, 'r', source)
	}
	c.transport(r)
	if len(r.ops) > 1 {
		c.path(r, 'o', &r.words[r.ops[1]])
	} else if r.dir != "" {
		here := shell.Word{Value: ".", Prefix: ".", Literal: true, Span: c.s.Calls[r.call].Span}
		c.path(r, 'o', &here)
	}
}

// transport notes a remote that git talks to through a program: ext::COMMAND.
func (c *classifier) transport(r *reading) {
	for _, k := range r.ops {
		if w := &r.words[k]; strings.HasPrefix(w.Value, "ext::") {
			c.add(optionProgram, r.call, w.Span, w.Value)
		}
	}
}

// localRepository reports whether a repository is named by a path.
func localRepository(v string) bool {
	return strings.HasPrefix(v, "/") || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") || v == "." || v == ".." || strings.HasPrefix(v, "file://")
}

func (c *classifier) gitStash(r *reading) {
	switch r.op(0) {
	case "list", "show", "create", "store":
	case "drop", "clear":
		c.addCall(deleteWork, r.call)
	default: // push, pop, apply, branch, save, or nothing
		c.addCall(writeTree, r.call)
	}
}

// gitCheckout: making a branch changes only the repository.
func (c *classifier) gitCheckout(r *reading) {
	if r.has("b B orphan") && r.dashes < 0 {
		return
	}
	if len(r.ops) == 0 && !r.has("f p pathspec-from-file d detach") {
		return
	}
	c.addCall(writeTree, r.call)
}

// gitConfig: setting a key that runs something changes what git does later.
func (c *classifier) gitConfig(r *reading) {
	ops := r.ops
	if len(ops) > 0 {
		switch r.words[ops[0]].Value {
		case "get", "list", "edit", "unset", "remove-section", "rename-section", "get-all", "get-regexp":
			return
		case "set", "add":
			ops = ops[1:]
		}
	}
	if r.has("get get-all get-regexp get-urlmatch l list unset unset-all e edit rename-section remove-section get-color") || len(ops) < 2 {
		return
	}
	name, value := &r.words[ops[0]], &r.words[ops[1]]
	alias := strings.HasPrefix(strings.ToLower(name.Value), "alias.")
	switch {
	case alias && strings.HasPrefix(value.Value, "!"):
	case strings.EqualFold(name.Value, "core.sshCommand") && value.Value != "":
	case !alias && gitRuns(name.Value) && (!value.Literal || !harmlessValue(name.Value, value.Value)):
	default:
		return
	}
	c.addCall(configGit, r.call)
}
