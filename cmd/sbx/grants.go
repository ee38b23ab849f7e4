package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/permit"
)

const grantsHelp = `sbx grants: what was permitted for good, in the configuration.

  sbx grants list                       of calls that name no agent
  sbx grants list --agent main
  sbx grants clear bash                 every grant of bash
  sbx grants clear bash:deletes         this one
  sbx grants clear                      all

With --ask, or "ask": true in the configuration, a command needs permission. A
grant says what it covers: "bash:deletes+network" is commands that flag nothing
but these tags, "bash:none" those that flag none, "bash:any" every command, "*"
everything. Grants stand in auto_approve: of an agent under "agents", else under
"sbx". An edit by hand takes effect at once.

  --agent NAME      whose grants (default: $SBX_AGENT, else of calls that name none)
  --json            list: print one object

Exit status: 0, 2 usage, 125 it could not be done.
`

func grantsCommand(s *streams, args []string) int {
	f := newFlags("grants")
	agent := f.String("agent", os.Getenv(agentVar), "")
	asJSON := f.Bool("json", false, "")
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		s.help(grantsHelp)
		return exitOK
	}
	words := append(f.operands, f.after...)
	verb := ""
	if len(words) > 0 {
		verb = words[0]
	}
	what := ""
	switch {
	case err != nil:
	case verb == "list" && len(words) == 1:
	case verb == "clear" && len(words) <= 2 && !*asJSON:
		if len(words) == 2 {
			if what = words[1]; what == "" {
				err = usage("no grant", "sbx grants clear takes all")
			}
		}
	case verb == "list" && len(words) == 2, verb == "clear":
		err = usage("too many operands", "sbx grants list, or sbx grants clear [TOOL]")
	default:
		err = unknownAction("grants", verb, "sbx grants list, or sbx grants clear [TOOL]")
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	path, err := config.Locate(os.Getenv)
	if err == nil {
		store := permit.InConfig{Path: path}
		_, session := sessionOf(*agent)
		if verb == "list" {
			err = listGrants(s.out, store, session, *agent, *asJSON)
		} else {
			err = clearGrants(s.out, store, session, *agent, what)
		}
	}
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	return exitOK
}

func listGrants(out io.Writer, store permit.InConfig, session sessionGrants, agent string, asJSON bool) error {
	grants, err := store.Granted(agent)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(out, map[string]any{
			"agent": agent, "auto_approve": append([]string{}, grants...), "session": append([]string{}, session.Granted("")...),
		})
	}
	for _, line := range permit.Listed(grants) {
		fmt.Fprintln(out, visible(line))
	}
	for _, g := range session.Granted("") {
		fmt.Fprintln(out, visible(permit.Listed([]string{g})[0])+" (in this session)")
	}
	return nil
}

// clearGrants takes back for good and in the session: who takes a tool back means
// all of it.
func clearGrants(out io.Writer, store permit.InConfig, session sessionGrants, agent, what string) error {
	inSession, err := session.Clear("", what)
	if err != nil && session.Path != "" {
		return err
	}
	taken, err := store.Clear(agent, what)
	if err != nil {
		return err
	}
	for _, line := range permit.Taken(taken) {
		if len(taken) > 0 || len(inSession) == 0 {
			fmt.Fprintln(out, visible(line))
		}
	}
	for _, g := range inSession {
		fmt.Fprintln(out, "took back "+visible(g)+" (in this session)")
	}
	return nil
}
