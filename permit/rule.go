package permit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Rule is a policy as data. All conditions that are given must hold.
type Rule struct {
	Name    string   `json:"name"`
	Tool    string   `json:"tool,omitempty"`      // exactly; empty: every tool
	Tags    []string `json:"tags,omitempty"`      // the call flags all of them
	Argv    []string `json:"argv,omitempty"`      // a program of the command starts so; the program by its base name
	Path    string   `json:"path,omitempty"`      // a word or redirection is this path or lies below it; * and ? as in path.Match
	Host    string   `json:"host,omitempty"`      // a word names this host, or with *. one below it
	Verdict string   `json:"verdict"`             // "deny", "ask" or "allow-with-grant"
	Because string   `json:"justification"`       // shown with the refusal or the question
	Match   []string `json:"match,omitempty"`     // commands that the rule must fit
	Differ  []string `json:"not_match,omitempty"` // commands that it must not fit
}

// verdicts of rules. What is allowed only with a grant is asked about once: the
// answer can be remembered, and nothing else, "*" among it, answers it.
var ruleVerdicts = [...]struct {
	word    string
	verdict Verdict
}{{"deny", Refuse}, {"ask", Ask}, {"allow-with-grant", Ask}}

func (r Rule) verdict() (Verdict, bool) {
	for _, v := range ruleVerdicts {
		if v.word == r.Verdict {
			return v.verdict, true
		}
	}
	return Refuse, false
}

// RuleError is a rule that cannot be used.
type RuleError struct {
	Rule string
	Why  string
}

func (e *RuleError) Error() string { return fmt.Sprintf("policy %q: %s", e.Rule, e.Why) }

// Load checks rules and makes policies of them. read gives the call that a
// command of bash is (see Command). A rule with a mistake, or whose examples do
// not come out as it says, is not loaded: all such are in the error.
func Load(rules []Rule, read func(command string) Call) ([]Scope, error) {
	var loaded []Scope
	var failed []error
	seen := map[string]bool{}
	for _, r := range rules {
		err := r.check(read)
		if err == nil && seen[r.Name] {
			err = &RuleError{r.Name, "another rule has that name"}
		}
		seen[r.Name] = true
		if err != nil {
			failed = append(failed, err)
			continue
		}
		loaded = append(loaded, Scope{Policy: r.policy()})
	}
	return loaded, errors.Join(failed...)
}

func (r Rule) check(read func(string) Call) error {
	fail := func(why string) error { return &RuleError{r.Name, why} }
	_, known := r.verdict()
	switch {
	case r.Name == "":
		return fail("it has no name")
	case !known:
		return fail(fmt.Sprintf("its verdict %q is none of deny, ask, allow-with-grant", r.Verdict))
	case r.Because == "":
		return fail("it has no justification: who is refused must be told why")
	case r.Tool == "" && len(r.Tags)+len(r.Argv) == 0 && r.Path == "" && r.Host == "":
		return fail("it has no condition, so that it would hold for every call")
	}
	for _, tag := range r.Tags {
		if Label(tag) == "" {
			return fail(fmt.Sprintf("there is no risk %q", tag))
		}
	}
	if _, err := path.Match(r.Path, ""); err != nil {
		return fail(fmt.Sprintf("its path %q is no pattern", r.Path))
	}
	if strings.Contains(strings.TrimPrefix(r.Host, "*."), "*") {
		return fail(fmt.Sprintf("its host %q may have a star as its first label only", r.Host))
	}
	for _, command := range r.Match {
		if !r.fits(read(command)) {
			return fail(fmt.Sprintf("it does not fit its example %q", command))
		}
	}
	for _, command := range r.Differ {
		if r.fits(read(command)) {
			return fail(fmt.Sprintf("it fits %q, which it must not", command))
		}
	}
	return nil
}

// rulePolicy is a loaded rule.
type rulePolicy struct {
	rule    Rule
	verdict Verdict
}

func (r Rule) policy() Policy {
	v, _ := r.verdict()
	return rulePolicy{r, v}
}

func (p rulePolicy) Name() string { return p.rule.Name }

func (p rulePolicy) Check(_ context.Context, c Call, _ Context) Opinion {
	if !p.rule.fits(c) {
		return NoObjection
	}
	return Opinion{Verdict: p.verdict, Reason: p.rule.Because}
}

func (r Rule) fits(c Call) bool {
	if r.Tool != "" && r.Tool != c.Tool {
		return false
	}
	if len(r.Tags) > 0 {
		risks := c.Risks()
		if slices.ContainsFunc(r.Tags, func(tag string) bool { return !slices.Contains(risks, tag) }) {
			return false
		}
	}
	if len(r.Argv) > 0 && !slices.ContainsFunc(c.Argv, r.begins) {
		return false
	}
	if r.Path != "" && !slices.ContainsFunc(c.paths(), r.reaches) {
		return false
	}
	return r.Host == "" || slices.ContainsFunc(c.hosts(), r.names)
}

func (r Rule) begins(argv []string) bool {
	if len(argv) < len(r.Argv) {
		return false
	}
	for i, want := range r.Argv {
		have := argv[i]
		if i == 0 && !strings.Contains(want, "/") {
			have = path.Base(have)
		}
		if have != want {
			return false
		}
	}
	return true
}

// reaches says whether a path is the rule's or lies below it.
func (r Rule) reaches(name string) bool {
	for p := path.Clean(name); ; p = path.Dir(p) {
		if ok, _ := path.Match(r.Path, p); ok {
			return true
		}
		if p == path.Dir(p) {
			return false
		}
	}
}

func (r Rule) names(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	want := strings.ToLower(r.Host)
	if below, star := strings.CutPrefix(want, "*"); star {
		return strings.HasSuffix(host, below)
	}
	return host == want
}
