package permit

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/sbx-run/sbx/config"
)

// InConfig is the Store in a configuration file: the list auto_approve of an agent,
// or sbx.auto_approve for whoever names none. It is read at each decision, so that
// an edit by hand takes effect at once.
type InConfig struct{ Path string }

var errNoFile = errors.New("there is no place for a configuration: set HOME, PEPE_HOME or PEPE_CONFIG")

// Granted lists the grants. An agent that is not there has none.
func (s InConfig) Granted(agent string) ([]string, error) {
	if s.Path == "" {
		return nil, nil
	}
	c, err := config.Read(s.Path)
	if err != nil {
		return nil, err
	}
	if agent != "" {
		return c.Agents[agent].AutoApprove, nil
	}
	return c.Grants, nil
}

// Grant merges grants into the list. An agent that is not there is an error.
func (s InConfig) Grant(agent string, grants ...Grant) error {
	if s.Path == "" {
		return errNoFile
	}
	_, err := config.EditGrants(s.Path, agent, func(have []string) []string { return MergeAll(have, grants) })
	return err
}

// Clear takes grants away, see the function Clear; "" takes all. It returns what
// was taken.
func (s InConfig) Clear(agent, what string) (taken []string, err error) {
	if s.Path == "" {
		return nil, errNoFile
	}
	_, err = config.EditGrants(s.Path, agent, func(have []string) (left []string) {
		if what == "" {
			taken = have
			return []string{}
		}
		left, taken = Clear(have, what)
		return left
	})
	return taken, err
}

// FromConfig makes policies of those of a configuration. read gives the call that
// a command is, see Load. One that does not load is in the error; as nobody knows
// what it would have refused, the others alone are no answer.
func FromConfig(list []config.Policy, read func(command string) Call) ([]Scope, error) {
	var rules []Rule
	for i, p := range list {
		if p.Path != "" && !path.IsAbs(p.Path) {
			p.Path = path.Clean(p.Path)
		}
		if p.Name == "" {
			return nil, fmt.Errorf("sbx.policies[%d]: it has no name", i)
		}
		rules = append(rules, Rule{
			Name: p.Name, Tool: p.Tool, Tags: p.Tags, Argv: p.Argv, Path: p.Path, Host: p.Host,
			Verdict: p.Verdict, Because: p.Because, Match: p.Match, Differ: p.NotMatch,
		})
	}
	scopes, err := Load(rules, read)
	if err != nil {
		return nil, err
	}
	for i, p := range list {
		scopes[i].Agents, scopes[i].Projects = p.Agents, p.Projects
	}
	return scopes, nil
}

// Describe says in a sentence what a policy of a configuration does.
func Describe(p config.Policy) string {
	var when []string
	if p.Tool != "" {
		when = append(when, "the tool is "+p.Tool)
	}
	if len(p.Tags) > 0 {
		when = append(when, "the call "+labels(p.Tags, Label))
	}
	if len(p.Argv) > 0 {
		when = append(when, "a program of it starts with `"+strings.Join(p.Argv, " ")+"`")
	}
	if p.Path != "" {
		when = append(when, "a word or redirection is "+p.Path+" or lies below it")
	}
	if p.Host != "" {
		when = append(when, "a word names the host "+p.Host)
	}
	does := map[Verdict]string{Refuse: "refuses", Ask: "has a person look at", Allow: "allows"}
	v, known := Rule{Verdict: p.Verdict}.verdict()
	if !known {
		does[v] = "is not in order: it would refuse"
	}
	text := p.Name + " " + does[v] + " a call when " + strings.Join(when, " and ") + ": " + p.Because
	switch {
	case len(p.Agents)+len(p.Projects) == 0:
		return text
	case len(p.Projects) == 0:
		return text + " (agents " + strings.Join(p.Agents, ", ") + " only)"
	case len(p.Agents) == 0:
		return text + " (projects " + strings.Join(p.Projects, ", ") + " only)"
	}
	return text + " (agents " + strings.Join(p.Agents, ", ") + " and projects " + strings.Join(p.Projects, ", ") + " only)"
}
