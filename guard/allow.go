package guard

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// Allow lifts a rule for one object: the owner's word against a false refusal.
// Exactly one of Path and Argv is set.
type Allow struct {
	Rule   string   `json:"rule"`
	Path   string   `json:"path,omitempty"` // absolute: this path and what is below it
	Argv   []string `json:"argv,omitempty"` // the first words of a command; see Check
	Reason string   `json:"reason"`
}

// Use is an Allow that lifted a violation.
type Use struct {
	Allow
	Object string `json:"object"` // the path or the command that it was about, resolved
}

// pathRules are the rules whose violations are about a path, sorted.
var pathRules = [...]string{"delete-system", "format-device", "write-device"}

// Check refuses an entry that lifts more than one object, or nothing. The words
// of Argv are the first ones of a command, what follows them is not looked at;
// for agent-control they are all of them.
func (a Allow) Check() error {
	switch {
	case !slices.ContainsFunc(rows[:], func(r Rule) bool { return r.ID == a.Rule }):
		return fmt.Errorf("rule %q: there is no such rule of guard", a.Rule)
	case strings.TrimSpace(a.Reason) == "":
		return errors.New("reason: it is missing")
	case (a.Path == "") == (len(a.Argv) == 0):
		return errors.New("want either a path or an argv that names what is allowed")
	case a.Path != "" && !slices.Contains(pathRules[:], a.Rule):
		return fmt.Errorf("path: rule %s is about a command; name it by argv", a.Rule)
	case a.Path != "" && (!path.IsAbs(a.Path) || path.Clean(a.Path) != a.Path):
		return fmt.Errorf("path %q: want an absolute path; . and .. must not be in it", a.Path)
	case a.Path == "/":
		return errors.New(`path "/": it would allow everything`)
	case len(a.Argv) == 1 && a.Rule != "power-off" && a.Rule != "agent-control" && a.Rule != "fork-bomb":
		return fmt.Errorf("argv: %q alone would allow everything it does", a.Argv[0])
	case len(a.Argv) > 0 && a.Argv[0] == "":
		return errors.New("argv: the program has no name")
	}
	return nil
}

// CheckAllowing is Check without what the owner allows. It says what was lifted.
func CheckAllowing(s *shell.Script, allow []Allow) ([]Violation, []Use) {
	plain := Check(s)
	if len(plain) == 0 || len(allow) == 0 {
		return plain, nil
	}
	// Once more, and not by dropping violations: a rule ends at the first object
	// of a command that breaks it, and the next one may not be allowed.
	k := checker{s: s, allow: &allowance{list: allow}}
	k.check()
	return k.out, k.allow.used
}

// allowance is what is allowed, and what of it was needed.
type allowance struct {
	list []Allow
	used []Use
}

func (a *allowance) note(by Allow, object string) bool {
	for _, u := range a.used {
		if u.Rule == by.Rule && u.Object == object {
			return true
		}
	}
	a.used = append(a.used, Use{Allow: by, Object: object})
	return true
}

// allows reports whether a path is allowed to a rule.
func (k *checker) allows(rule, p string) bool {
	if k.allow == nil {
		return false
	}
	for _, a := range k.allow.list {
		if a.Rule == rule && a.Path != "" && (p == a.Path || strings.HasPrefix(p, a.Path+"/")) {
			return k.allow.note(a, p)
		}
	}
	return false
}

// allowsCall reports whether a call is allowed to a rule by its words.
func (k *checker) allowsCall(rule string, c *shell.Call) bool {
	if k.allow == nil {
		return false
	}
	for _, a := range k.allow.list {
		if a.Rule == rule && len(a.Argv) > 0 && begins(c, a.Argv, rule == "agent-control") {
			return k.allow.note(a, strings.Join(a.Argv, " "))
		}
	}
	return false
}

// begins reports whether the words of a call begin with argv, or are argv. A
// word that is only guessed, or stands for several, is not the one that is meant.
func begins(c *shell.Call, argv []string, whole bool) bool {
	if len(c.Words) < len(argv) || whole && (len(c.Words) != len(argv) || c.More) {
		return false
	}
	for j, want := range argv {
		if w := &c.Words[j]; !w.Literal || w.Glob || w.Eval || w.Value != want {
			return false
		}
	}
	return true
}
