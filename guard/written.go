package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// script is a file with literal text that the command wrote before.
type script struct{ path, text string }

// maxWritten bounds the files that are remembered.
const maxWritten = 64

// noteWritten remembers the literal text that a call writes to a file, for the
// case that a later one runs it: echo … > x.sh; sh x.sh.
func (k *checker) noteWritten(i int, c *shell.Call, name string) {
	if len(k.written) >= maxWritten {
		return
	}
	var files []*shell.Word
	for r := range c.Redirs {
		if c.Redirs[r].Writes() {
			files = append(files, &c.Redirs[r].Target)
		}
	}
	if name == "tee" {
		for j := range c.Args() {
			files = append(files, &c.Args()[j])
		}
	}
	if len(files) == 0 {
		return
	}
	var text string
	var ok bool
	switch name {
	case "echo", "printf", "cat":
		text, ok = k.printedBy([]int{i})
	case "tee":
		text, ok = k.input(c)
	}
	for _, w := range files {
		if v, known := certain(k.s, w); ok && known && v != "" {
			k.written = append(k.written, script{k.below(c.Dir, v), text})
		}
	}
}

// writtenTo finds the text of a file by a word that names it.
func (k *checker) writtenTo(c *shell.Call, w *shell.Word) (string, bool) {
	v, ok := certain(k.s, w)
	if !ok || v == "" {
		return "", false
	}
	path := k.below(c.Dir, v)
	for j := len(k.written) - 1; j >= 0; j-- {
		if k.written[j].path == path && path != "" {
			return k.written[j].text, true
		}
	}
	return "", false
}

// runWritten judges a file that a shell runs.
func (k *checker) runWritten(i int, c *shell.Call, w *shell.Word) bool {
	text, ok := k.writtenTo(c, w)
	if !ok {
		return false
	}
	if first, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "#!") {
		name := strings.TrimPrefix(strings.TrimSpace(first[strings.LastIndexByte(first, '/')+1:]), "env ")
		if in, ok := languageOf(name); ok {
			k.scan(i, c, in.lang, rest)
			return true
		}
	}
	k.runText(i, c, c.Dir, text)
	return true
}

// scanWritten judges a file that an interpreter runs.
func (k *checker) scanWritten(i int, c *shell.Call, l *lang, w *shell.Word) bool {
	if len(k.written) == 0 {
		return false
	}
	text, ok := k.writtenTo(c, w)
	if ok {
		k.scan(i, c, l, text)
	}
	return ok
}
