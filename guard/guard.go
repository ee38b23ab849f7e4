// Package guard refuses the few commands that are never legitimate: deleting
// the system or the home directory, formatting or overwriting a disk, powering
// the host off, fork bombs, and driving the controls of the agent itself. It
// judges resolved words and normalised paths, never raw text, and it is an early
// and explainable refusal, not a boundary.
package guard

import "github.com/sbx-run/sbx/shell"

// Violation is one command that is never legitimate.
type Violation struct {
	Rule    string // e.g. "delete-system"
	Call    int    // index in Script.Calls
	Span    shell.Span
	Words   string // the words that matter, resolved
	Reason  string // one sentence
	Instead string // what to do instead
}

// maxViolations bounds the list: a command that is refused needs no longer one.
const maxViolations = 64

// Check lists the violations of a script in the order of its calls. It depends
// on nothing but the script and is safe for concurrent use.
func Check(s *shell.Script) []Violation {
	k := checker{s: s}
	k.check()
	return k.out
}

// checker judges one script.
type checker struct {
	s     *shell.Script
	out   []Violation
	depth int // programs around this one: python -c "os.system(…)"
	unset unsetMemo
	found foundMemo
	names nameMemo

	written []script // files that this text wrote
	links   []link
	allow   *allowance
}

func (k *checker) check() {
	for i := range k.s.Calls {
		if len(k.out) >= maxViolations {
			return
		}
		k.call(i)
	}
	k.bombs()
}

// nowhere stands for a call that an index does not find.
var nowhere shell.Call

// at is the call at an index.
func (k *checker) at(j int) *shell.Call {
	if j < 0 || j >= len(k.s.Calls) {
		return &nowhere
	}
	return &k.s.Calls[j]
}

// report adds a violation; what describes the object of the reason, words are
// what matters of the command.
func (k *checker) report(w way, i int, what, words string) {
	row := &rows[w]
	if k.allowsCall(row.ID, &k.s.Calls[i]) {
		return
	}
	v := Violation{
		Rule: row.ID, Call: i, Span: k.s.Calls[i].Span, Words: words,
		Reason: row.reason(what), Instead: row.Instead,
	}
	k.add(v)
}

// add keeps a violation that is not known yet: a function is read where it is
// defined and where it is called.
func (k *checker) add(v Violation) {
	for _, old := range k.out {
		if old.Rule == v.Rule && old.Span == v.Span {
			return
		}
	}
	k.out = append(k.out, v)
}
