package hook

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// What is written here is read by a model first: what was refused, by which
// rule, why, what to do instead, and that another spelling is no way out.

// maxWords bounds a quoted piece of the command, in bytes.
const maxWords = 160

// maxListed bounds how many findings of one kind are told.
const maxListed = 3

func refusal(s *shell.Script, list []guard.Violation) string {
	var b strings.Builder
	b.WriteString("sbx refused this command. Nothing of it ran.")
	for i, v := range list {
		if i == maxListed {
			b.WriteString("\n- and " + strconv.Itoa(len(list)-i) + " more")
			break
		}
		at := s.Pos(v.Span.Start)
		b.WriteString("\n- " + code(v.Words) + " (rule " + visible(v.Rule) + ", at " + place(at) + "): " + sentence(v.Reason))
		if v.Instead != "" {
			b.WriteString(" Instead: " + sentence(v.Instead))
		}
	}
	b.WriteString("\nDo not retry it, reworded, split up, or inside another shell or script: " +
		"the rule is fixed and looks at what would happen. " +
		"If it has to be done, tell the user, who can do it outside of this session.")
	return b.String()
}

func unreadable(why string) string {
	return "sbx refused this command because it could not be read as a whole (" + visible(why) + "). Nothing of it ran. " +
		"Retrying the same text will not help. Run it in smaller steps, " +
		"or put the data into a file and keep the command short."
}

func unparsed(s *shell.Script) string {
	return "sbx could not read the whole command: " + visible(s.Err.Error()) + ". What stands there is not judged."
}

func broken(title, why string) string {
	return "sbx refused because the event from " + title + " could not be read: " + visible(why) + ". Nothing ran. " +
		"Retrying will not help; the user has to look at the hook of sbx."
}

// question tells each kind of effect that was not allowed beforehand, with the
// words that have it.
func question(s *shell.Script, open classify.Tags, findings []classify.Finding) string {
	var b strings.Builder
	b.WriteString("sbx: this command needs a person's consent.")
	for _, tag := range classify.All() {
		if tag&open == 0 {
			continue
		}
		b.WriteString("\n- " + tag.String())
		listed := 0
		for _, f := range findings {
			if f.Tag != tag {
				continue
			}
			if listed++; listed > maxListed {
				continue
			}
			b.WriteString(separator(listed) + code(words(s, f)) + " (" + visible(f.Why) + ")")
		}
		if listed > maxListed {
			b.WriteString(", and " + strconv.Itoa(listed-maxListed) + " more")
		}
	}
	return b.String()
}

func separator(n int) string {
	if n == 1 {
		return ": "
	}
	return ", "
}

func words(s *shell.Script, f classify.Finding) string {
	if f.Words != "" {
		return f.Words
	}
	return s.Slice(f.Span)
}

// allowHint is for the user: how not to be asked again.
func allowHint(open classify.Tags) string {
	return "(The owner can allow this kind once and for all: --allow " + strings.Join(open.Names(), ",") + " in the hook's command line.)"
}

func join(parts ...string) string {
	out := ""
	for _, p := range parts {
		switch {
		case p == "":
		case out == "":
			out = p
		default:
			out += "\n" + p
		}
	}
	return out
}

func place(p shell.Pos) string { return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) }

// sentence ends with a full stop.
func sentence(v string) string {
	v = visible(v)
	if v == "" || strings.HasSuffix(v, ".") {
		return v
	}
	return v + "."
}

// code is a piece of the command, shortened, on one line.
func code(v string) string {
	v = visible(v)
	if len(v) > maxWords {
		cut := maxWords
		for cut > 0 && !utf8.RuneStart(v[cut]) {
			cut--
		}
		v = v[:cut] + "…"
	}
	return "`" + v + "`"
}

// visible has no byte that moves the cursor, hides text or turns its direction:
// the answer is shown to a person who decides by it.
func visible(v string) string {
	if strings.IndexFunc(v, hidden) < 0 && utf8.ValidString(v) {
		return v
	}
	var b strings.Builder
	for _, r := range v {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case hidden(r):
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != ' ' && (unicode.IsControl(r) || !unicode.IsPrint(r))
}
