package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// call judges one call: its redirections, then its program.
func (k *checker) call(i int) {
	c := &k.s.Calls[i]
	for r := range c.Redirs {
		if c.Redirs[r].Writes() {
			k.writes(i, c, &c.Redirs[r].Target)
		}
	}
	name := program(c)
	switch name {
	case "":
	case "rm", "grm", "srm", "wipe", "rimraf", "del-cli", "trash", "trash-put", "safe-rm", "unlink", "gunlink", "shred", "gshred", "truncate", "gtruncate":
		k.remove(i, c, name)
	case "gio":
		if len(c.Words) > 1 && c.Words[1].Value == "trash" {
			k.remove(i, c, name)
		}
	case "find", "gfind", "bfs":
		k.find(i, c)
	case "chmod", "gchmod", "chown", "gchown", "chgrp", "gchgrp":
		k.mode(i, c, strings.TrimPrefix(name, "g"))
	case "mv", "gmv":
		k.move(i, c)
	case "cp", "gcp", "install", "ginstall":
		k.copyTo(i, c)
	case "git", "git-clean":
		k.clean(i, c)
	case "rsync":
		k.sync(i, c)
	case "tar", "gtar", "bsdtar":
		k.archive(i, c)
	case "tee", "gtee", "sponge":
		k.writesOperands(i, c)
	case "dd", "gdd", "dcfldd", "dc3dd":
		k.dd(i, c)
	default:
		k.rare(i, c, name)
	}
}

// rare judges the programs that everyday commands do not hold.
func (k *checker) rare(i int, c *shell.Call, name string) {
	switch {
	case k.format(i, c, name), k.power(i, c, name), k.control(i, c, name):
	}
}

// program is the name of the program, also when it is only what the text lets
// one expect: ${x:-rm}, $(echo rm). Where case does not matter /BIN/RM is rm.
func program(c *shell.Call) string {
	if len(c.Words) == 0 || !c.Words[0].Literal && !c.Words[0].Guess || c.Words[0].Glob {
		return ""
	}
	name := c.Words[0].Value
	name = name[strings.LastIndexByte(name, '/')+1:]
	for j := 0; j < len(name); j++ {
		if 'a' <= name[j] && name[j] <= 'z' {
			return name
		}
	}
	return strings.ToLower(name)
}

// spelled prints the program with its options and the one operand that matters.
func spelled(c *shell.Call, object string) string {
	var b strings.Builder
	b.WriteString(c.Words[0].Value)
	for j := 1; j < len(c.Words) && b.Len() < 60; j++ {
		if v := known(&c.Words[j]); len(v) > 1 && v[0] == '-' && v != "--" {
			b.WriteByte(' ')
			b.WriteString(v)
		}
	}
	if object != "" {
		b.WriteByte(' ')
		b.WriteString(object)
	}
	return b.String()
}

func (k *checker) reportPlace(w way, i int, at place, shown string) {
	what := at.String()
	if shown != "" && at != rootList && at != rootDir {
		what = shown + " (" + what + ")"
	}
	k.report(w, i, what, spelled(&k.s.Calls[i], shown))
}
