package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/approvals"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/permit"
)

const approvalsHelp = `sbx approvals: commands that wait because nobody could be asked.

  sbx approvals list                    what waits, as a whole
  sbx approvals show 0a1b2c3d
  sbx approvals approve 0a1b2c3d        run it now, here
  sbx approvals approve 0a1b2c3d --always   and permit such commands for good
  sbx approvals deny 0a1b2c3d --reason 'too broad'

With --ask, or "ask": true, a command that needs permission where there is no
terminal is kept for half an hour. It is approved or denied once, and runs at
most once: as it was called, in the same directory, with your environment, and
with standard input closed.

  --all             list: also what was decided or has expired, for a week
  --json            list, show: print objects

Exit status: of approve the command's own, as for sbx exec --help; 2 usage, 3 no
such number, or decided already; 125 it could not be done.
`

// approvalsCall is a call of sbx approvals.
type approvalsCall struct {
	flags
	all, json, always bool
	reason            string
	store             *approvals.Store
}

func approvalsCommand(s *streams, args []string) int {
	c := &approvalsCall{flags: *newFlags("approvals")}
	c.BoolVar(&c.all, "all", false, "")
	c.BoolVar(&c.json, "json", false, "")
	c.BoolVar(&c.always, "always", false, "")
	c.StringVar(&c.reason, "reason", "", "")
	err := c.parse(args)
	if errors.Is(err, errHelp) {
		s.help(approvalsHelp)
		return exitOK
	}
	words := append(c.operands, c.after...)
	if err == nil {
		err = c.understood(words)
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	if c.store, err = approvalsStore(); err != nil {
		s.fail(err)
		return exitNotStarted
	}
	switch words[0] {
	case "list":
		err = c.list(s.out)
	case "show":
		err = c.show(s.out, words[1])
	case "deny":
		err = c.deny(s, words[1])
	case "approve":
		return c.approve(s, words[1])
	}
	return s.settled(err)
}

func (c *approvalsCall) understood(words []string) error {
	const how = "sbx approvals list, show ID, approve ID or deny ID"
	verb := append(words, "")[0]
	with := map[string]int{"list": 1, "show": 2, "approve": 2, "deny": 2}
	switch n, known := with[verb]; {
	case !known:
		return unknownAction("approvals", verb, how)
	case len(words) < n:
		return usage("no ID", "sbx approvals "+verb+" ID; sbx approvals list shows them")
	case len(words) > n:
		return usage("too many operands", how)
	case c.always && verb != "approve", c.reason != "" && verb != "deny", c.all && verb != "list", c.json && verb != "list" && verb != "show":
		return usage("a flag that means nothing to "+verb, "sbx approvals --help has examples")
	}
	return nil
}

// exitSettled says that there is nothing to decide any more.
const exitSettled = 3

func (s *streams) settled(err error) int {
	var gone *approvals.UnknownError
	var settled *approvals.SettledError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &gone), errors.As(err, &settled):
		s.fail(usage(err.Error(), "sbx approvals list says what waits"))
		return exitSettled
	}
	s.fail(err)
	return exitNotStarted
}

// approvalsStore is the caller's. Nothing is opened.
func approvalsStore() (*approvals.Store, error) {
	path, err := stateFile("approvals.db")
	return &approvals.Store{Path: path}, err
}

func (c *approvalsCall) list(out io.Writer) error {
	records, err := c.store.List()
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(r approvals.Record) bool { return !c.all && r.State != approvals.Pending })
	if c.json {
		list := make([]approvalJSON, len(records))
		for i, r := range records {
			list[i] = approvalOf(r)
		}
		return writeJSON(out, map[string]any{"approvals": list})
	}
	if len(records) == 0 {
		fmt.Fprintln(out, "nothing waits")
	}
	for _, r := range records {
		printApproval(out, r)
	}
	return nil
}

func (c *approvalsCall) show(out io.Writer, id string) error {
	r, err := c.store.Get(id)
	switch {
	case err != nil:
		return err
	case c.json:
		return writeJSON(out, approvalOf(r))
	}
	printApproval(out, r)
	return nil
}

// approvalJSON is a record as --json prints it. Bytes that are no UTF-8 are
// replaced: the store keeps them.
type approvalJSON struct {
	approvals.Record
	Subject string `json:"subject,omitempty"`
	Called  string `json:"called,omitempty"` // see called
	Origin  any    `json:"origin,omitempty"`
}

func approvalOf(r approvals.Record) approvalJSON {
	return approvalJSON{Record: r, Subject: string(r.Subject), Called: called(r)}
}

// printApproval writes one call, all of it: what is cut could be what matters.
func printApproval(out io.Writer, r approvals.Record) {
	line := []string{r.ID, string(r.State)}
	if r.Agent != "" {
		line = append(line, "agent "+r.Agent)
	}
	line = append(line, "since "+r.Created.Local().Format(time.DateTime))
	if r.State == approvals.Pending {
		line = append(line, "until "+r.Expires.Local().Format(time.TimeOnly))
	}
	fmt.Fprintln(out, visible(strings.Join(line, "  ")))
	if r.Tainted {
		fmt.Fprintln(out, "  careful: content from outside had entered the run")
	}
	if len(r.Subject) > 0 {
		printWhole(out, string(r.Subject), nil, 1<<20, func(_ style, text string) string { return text })
	}
	if how := called(r); how != "" {
		fmt.Fprintln(out, "  called as "+visible(how))
	}
	var labels []string
	for _, risk := range r.Risks {
		label := permit.Label(risk)
		if label == "" {
			label = risk
		}
		labels = append(labels, label)
	}
	if len(labels) > 0 {
		fmt.Fprintln(out, "  "+visible(strings.Join(labels, ", ")))
	}
	if r.Why != "" && r.State == approvals.Pending {
		fmt.Fprintln(out, "  "+visible(r.Why))
	}
	switch {
	case r.State == approvals.Approved && r.Exit != nil:
		fmt.Fprintf(out, "  approved by %s, run %s, exit status %d\n", visible(r.By), visible(r.Run), *r.Exit)
	case r.State == approvals.Approved:
		fmt.Fprintf(out, "  approved by %s; its end was not seen, and it is not run again\n", visible(r.By))
	case r.State == approvals.Denied:
		fmt.Fprintf(out, "  denied by %s %s\n", visible(r.By), visible(r.Reason))
	}
}

func decider() string { return "uid " + strconv.Itoa(os.Getuid()) + " by sbx approvals" }

// deny decides, and records it: nothing else will.
func (c *approvalsCall) deny(s *streams, id string) error {
	r, err := c.store.Deny(id, decider(), c.reason)
	if err != nil {
		return err
	}
	result := sbx.NotStarted(sbx.Options{}, &permit.RefusedError{Kind: permit.RefusedByPerson, Reason: c.reason})
	result.Tags = r.Risks
	result.Permission = &permit.Passage{
		Verdict: permit.Refuse.String(), Why: permit.ByApproval, Decision: permit.Deny.String(), By: decider(), Approval: id, Agent: r.Agent, Tainted: r.Tainted,
	}
	if err := sbx.Audit(auditPath(), result); err != nil {
		s.fail(err)
	}
	fmt.Fprintln(s.out, "denied "+visible(id))
	return nil
}

// approve decides, and runs the call. All that can be found to be wrong is found
// before the decision, which is made once.
func (c *approvalsCall) approve(s *streams, id string) int {
	r, err := c.store.Get(id)
	if err == nil && r.State != approvals.Pending {
		err = &approvals.SettledError{ID: id, State: r.State}
	}
	if err != nil {
		return s.settled(err)
	}
	if c.always && len(r.Grants) == 0 {
		return s.settled(usage("this cannot be permitted for good: content from outside had entered the run", "sbx approvals approve "+id+" runs it once"))
	}
	call, err := replayed(r)
	if err != nil {
		return s.settled(err)
	}
	call.request.Approval = &permit.Approval{ID: id, By: decider(), Always: c.always, Grants: r.Grants, Risks: r.Risks, Scripts: r.Scripts}
	call.claim = func() error {
		_, err := c.store.Approve(id, decider())
		return err
	}
	call.ended = func(result sbx.Result, status int) {
		if err := c.store.Ended(id, result.ID, status); err != nil {
			s.fail(err)
		}
	}
	return call.start(s, nil, approvalsHelp)
}

// agentIsThere says whether the agent that wanted a call is still there, if it was.
func agentIsThere(agent string, was bool) error {
	if agent == "" || !was {
		return nil
	}
	file, err := config.Load(os.Getenv)
	if err != nil {
		return err
	}
	if _, known := file.Agents[agent]; !known {
		return usage("the agent "+quote(agent)+" is no more", "the call can be denied")
	}
	return nil
}
