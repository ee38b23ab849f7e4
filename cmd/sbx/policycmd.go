package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/shell"
)

const policyHelp = `sbx policy: the policies of the configuration, before they are needed.

  sbx policy lint                       is each in order, do its examples hold?
  sbx policy test 'git push origin'     what do they say of this command?
  sbx policy explain                    what each one looks at, in words
  sbx policy explain no-push

A policy refuses or asks whatever was granted:

  {"sbx": {"policies": [{"name": "no-push", "argv": ["git", "push"],
    "verdict": "deny", "justification": "releases are pushed by hand",
    "match": ["git push"], "not_match": ["git pull"]}]}}

Verdicts: deny; ask, and allow-with-grant, which a person can answer for good.
Conditions: tool, tags, argv, path, host; all that are given must hold. While one
is not in order no command runs.

  --agent, --project NAME   test: who wants it
  --json                    test: print one object

Exit status: 0 in order, or no objection; 3 test: asks; 126 test: denies; 2 lint:
not in order, and usage; 125 it could not be read.
`

func policyCommand(s *streams, args []string) int {
	f := newFlags("policy")
	var who permit.Caller
	f.StringVar(&who.Agent, "agent", os.Getenv(agentVar), "")
	f.StringVar(&who.Project, "project", os.Getenv(projectVar), "")
	asJSON := f.Bool("json", false, "")
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		s.help(policyHelp)
		return exitOK
	}
	words := append(f.operands, f.after...)
	verb := ""
	if len(words) > 0 {
		verb = words[0]
	}
	const how = "sbx policy lint, sbx policy test 'COMMAND', or sbx policy explain [NAME]"
	switch {
	case err != nil:
	case verb == "lint" && len(words) == 1, verb == "test" && len(words) == 2, verb == "explain" && len(words) <= 2:
	case verb == "test" && len(words) == 1:
		err = usage("no command", "sbx policy test 'COMMAND'")
	case verb == "lint", verb == "test", verb == "explain":
		err = usage("too many operands", how)
	default:
		err = unknownAction("policy", verb, how)
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	file, err := config.Load(os.Getenv)
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	here, _ := os.Getwd() // "" leaves relative paths undecided
	switch verb {
	case "lint":
		return lintPolicies(s, file, here)
	case "test":
		return testPolicies(s, file, here, words[1], who, *asJSON)
	}
	return explainPolicies(s, file, words[1:])
}

func lintPolicies(s *streams, file config.Config, here string) int {
	status := exitOK
	seen := map[string]bool{}
	for _, p := range file.Policies {
		_, err := policiesOf(config.Config{Path: file.Path, Policies: []config.Policy{p}}, here)
		if err == nil && seen[p.Name] {
			err = errors.New("policy " + quote(p.Name) + ": another one has that name")
		}
		seen[p.Name] = true
		if err != nil {
			s.say("error", err.Error())
			status = exitUsage
			continue
		}
		fmt.Fprintf(s.out, "%s: in order, %d of %d examples hold\n", visible(p.Name), len(p.Match)+len(p.NotMatch), len(p.Match)+len(p.NotMatch))
		if len(p.Match) == 0 || len(p.NotMatch) == 0 {
			s.say("hint", p.Name+": give it an example that it fits (match) and one that it must not (not_match)")
		}
	}
	if len(file.Policies) == 0 {
		fmt.Fprintln(s.out, "there is no policy")
	}
	return status
}

// testPolicies says what the policies say, and exits as the verdict.
func testPolicies(s *streams, file config.Config, here, command string, who permit.Caller, asJSON bool) int {
	scopes, err := policiesOf(file, here)
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	where := shell.Where{Cwd: here, Workspace: here, Home: os.Getenv("HOME")}
	call := sbx.Check(sbx.Request{Text: command}, where).Follow(here).Call()
	o := permit.Consult(context.Background(), scopes, call, permit.Context{Agent: who.Agent, Project: who.Project})
	if asJSON {
		if err := writeJSON(s.out, map[string]any{"verdict": o.Verdict.String(), "policy": o.Policy, "reason": o.Reason, "risks": append([]string{}, call.Risks()...)}); err != nil {
			s.fail(err)
			return exitUsage
		}
	} else if o.Policy == "" {
		fmt.Fprintln(s.out, "no policy objects")
	} else {
		fmt.Fprintf(s.out, "%s: policy %s: %s\n", o.Verdict, visible(o.Policy), visible(o.Reason))
	}
	switch o.Verdict {
	case permit.Allow:
		return exitOK
	case permit.Ask:
		return exitFound
	}
	return exitRefused
}

func explainPolicies(s *streams, file config.Config, names []string) int {
	found := false
	for i, scope := range file.Policies {
		if len(names) > 0 && scope.Name != names[0] {
			continue
		}
		found = true
		fmt.Fprintln(s.out, visible(permit.Describe(file.Policies[i])))
	}
	if !found && len(names) > 0 {
		var known []string
		for _, p := range file.Policies {
			known = append(known, p.Name)
		}
		s.fail(usage("there is no policy "+quote(names[0]), meant(names[0], known, "", "sbx policy explain lists them all")))
		return exitUsage
	}
	if !found {
		fmt.Fprintln(s.out, "there is no policy")
	}
	return exitOK
}
