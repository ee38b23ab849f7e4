package hook

import (
	"path"
	"strings"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// Options is what the owner of the hook chose.
type Options struct {
	Allowed   classify.Tags // kinds of effect that need no question
	AutoAllow bool          // answer Allow where the answer would be None
	// Unasked is the answer where a question is due and nobody can be asked:
	// Deny (the default), or None to leave it to the agent's own settings.
	Unasked Verdict
	// Sbx is the absolute path of sbx. When it is set, a command that is not
	// refused is rewritten to run confined by it.
	Sbx string

	Shell     string // path of the user's shell, as in $SHELL
	Dialect   *shell.Dialect
	Home      string
	Workspace string // empty: what the event says, else its directory
	Cwd       string // empty: what the event says

	// Gate gives the owner's grants and policies for a command that starts there;
	// nil, or a nil *Gate: there are none. An error puts the command to the user.
	Gate func(shell.Where) (*Gate, error)

	// Check and Classify replace guard's and classify's reading; nil: theirs.
	Check    func(*shell.Script) []guard.Violation
	Classify func(*shell.Script) (classify.Tags, []classify.Finding)
}

// Decision is what became of a command.
type Decision struct {
	Verdict Verdict
	Reason  string // for the model and the user; "" when there is nothing to say
	Command string // what shall run instead; "" when it stays as it is
}

// judge decides on a command.
func (p Protocol) judge(e Event, o Options) Decision {
	if e.Foreign != "" {
		return p.ask(e, o, "sbx does not read "+e.Foreign+": a person has to look at this command.", "")
	}
	script := shell.ParseAt(e.Command, p.dialectOf(o), o.where(e))
	if v := o.check(script); len(v) > 0 {
		return Decision{Reason: refusal(script, v)}
	}
	if why := unread(script); why != "" {
		return Decision{Reason: unreadable(why)}
	}
	tags, findings := o.classify(script)
	open := tags &^ o.Allowed
	d, decided := p.gated(e, o, script, tags, open, findings)
	if !decided {
		d = Decision{Verdict: None}
	}
	switch {
	case decided:
	case script.Err != nil:
		d = p.ask(e, o, unparsed(script), "")
	case open != 0:
		d = p.ask(e, o, question(script, open, findings), allowHint(open))
	case o.AutoAllow:
		d.Verdict = Allow
	}
	if d.Verdict != Deny && o.Sbx != "" {
		return p.confine(e, o, d)
	}
	return d
}

// ask asks, where somebody can be asked.
func (p Protocol) ask(e Event, o Options, why, hint string) Decision {
	if p.unattended == nil || !p.unattended(e) {
		return Decision{Verdict: Ask, Reason: join(why, hint)}
	}
	if o.Unasked == None {
		return Decision{Verdict: None}
	}
	return Decision{Reason: join(why, "Nobody can be asked here, so it did not run. "+
		"Do without it, or tell the user what you want to run and why.", hint)}
}

// confine has the command run under sbx. The read text is what runs.
func (p Protocol) confine(e Event, o Options, d Decision) Decision {
	where := o.where(e)
	if where.Cwd == "" {
		return Decision{Reason: "sbx cannot confine this command: " + p.Title +
			" did not say in which directory it runs. Nothing ran."}
	}
	d.Command = confined(o.Sbx, where, p.dialectOf(o), e.Command)
	return d
}

func (p Protocol) dialectOf(o Options) shell.Dialect {
	if o.Dialect != nil {
		return *o.Dialect
	}
	return p.dialect(o.Shell)
}

func (o Options) check(s *shell.Script) []guard.Violation {
	if o.Check != nil {
		return o.Check(s)
	}
	return guard.Check(s)
}

func (o Options) classify(s *shell.Script) (classify.Tags, []classify.Finding) {
	if o.Classify != nil {
		return o.Classify(s)
	}
	return classify.Classify(s)
}

// where is what the reading assumes about the surroundings. A relative
// directory is no directory: nothing here knows what it is relative to.
func (o Options) where(e Event) shell.Where {
	cwd := o.Cwd
	for _, dir := range [...]string{e.Cwd, first(e.Roots)} {
		if cwd == "" && path.IsAbs(dir) {
			cwd = path.Clean(dir)
		}
	}
	workspace := o.Workspace
	if workspace != "" && !within(cwd, workspace) {
		workspace = "" // of another project
	}
	for _, root := range e.Roots {
		if workspace == "" && path.IsAbs(root) && within(cwd, root) {
			workspace = path.Clean(root)
		}
	}
	return shell.Where{Cwd: cwd, Workspace: workspace, Home: o.Home}
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// within reports whether dir is root or below it.
func within(dir, root string) bool {
	root = path.Clean(root)
	return dir == root || root == "/" || strings.HasPrefix(dir, root+"/")
}

// unread says why a text was not read as a whole for its size or depth; "" when
// it was, or when a syntax error is all that is wrong with it.
func unread(s *shell.Script) string {
	for _, u := range s.Unknown {
		if s.Err == nil || strings.HasPrefix(u.Why, "too ") || strings.HasPrefix(u.Why, "nested too ") {
			return u.Why
		}
	}
	if len(s.Calls) >= maxCalls {
		return "too many commands"
	}
	return ""
}

// maxCalls is where the reader of a script stops, at the latest. Nobody types as
// many commands, and nobody can look at a question about them.
const maxCalls = 100_000

// confined is a command line that runs text in a shell below sbx: in the
// directory of the command, with the whole workspace to write to.
func confined(sbx string, where shell.Where, d shell.Dialect, text string) string {
	prefix := quoted(sbx) + " exec --workspace "
	if where.Workspace != "" && where.Workspace != where.Cwd {
		prefix += quoted(where.Workspace) + " --cwd " + quoted(where.Cwd) + " -- "
	} else {
		prefix += quoted(where.Cwd) + " -- "
	}
	if inner, ok := strings.CutPrefix(text, prefix); ok && isConfined(inner) {
		return text
	}
	return prefix + shellOf(d) + " -c " + endOfOptions(text) + quoted(text)
}

// isConfined reports whether what stands behind the prefix is one shell with one
// quoted text and nothing more: a command that was rewritten before.
func isConfined(rest string) bool {
	for _, d := range [...]shell.Dialect{shell.Bash, shell.POSIX, shell.Mksh, shell.Zsh} {
		if text, ok := strings.CutPrefix(rest, shellOf(d)+" -c "); ok {
			text, _ = strings.CutPrefix(text, "-- ")
			return quoted(unquoted(text)) == text
		}
	}
	return false
}

func shellOf(d shell.Dialect) string {
	switch d {
	case shell.POSIX, shell.Sh:
		return "sh"
	case shell.Mksh:
		return "mksh"
	case shell.Zsh:
		return "zsh"
	}
	return "bash"
}

// endOfOptions keeps a text that looks like an option from being one.
func endOfOptions(text string) string {
	if text != "" && (text[0] == '-' || text[0] == '+') {
		return "-- "
	}
	return ""
}

// quoted is one word for the shell: inside single quotes only the quote itself
// is special.
func quoted(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// unquoted undoes quoted, for words that it made.
func unquoted(word string) string {
	word = strings.TrimSuffix(strings.TrimPrefix(word, "'"), "'")
	return strings.ReplaceAll(word, `'\''`, "'")
}
