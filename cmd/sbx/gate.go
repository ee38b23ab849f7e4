package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/approvals"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/hook"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/shell"
)

// taintedVar is --tainted for a wrapper, when it is "1".
const taintedVar = "SBX_TAINTED"

// gateCall is the part of a call about permission.
type gateCall struct {
	ask             askFlag
	tainted, noPark bool
}

func (g *gateCall) declare(f *flags) {
	f.Var(&g.ask, "ask", "")
	f.BoolVar(&g.tainted, "tainted", false, "")
	f.BoolVar(&g.noPark, "no-park", false, "")
}

// askFlag is --ask: on, off, or how long to wait for an answer.
type askFlag struct {
	set, on bool
	wait    time.Duration
}

func (a *askFlag) String() string   { return "" }
func (a *askFlag) IsBoolFlag() bool { return true }
func (a *askFlag) Set(v string) error {
	a.set, a.on, a.wait = true, true, 0
	switch v {
	case "true", "on":
	case "false", "off":
		a.on = false
	default:
		wait, err := duration(v)
		if err != nil || wait == 0 {
			return &hintedError{msg: "no such value", hint: "--ask, --ask=off, or --ask=90s to wait that long for an answer"}
		}
		a.wait = wait
	}
	return nil
}

// gate puts the permission gate before the command, when somebody has asked for
// it: --ask or sbx.ask for grants and questions, sbx.policies for policies. Where
// there is neither, nothing changes.
func (c *execCall) gate(o *sbx.Options, file config.Config) error {
	hideState(o)
	asks := file.Ask
	if c.permission.ask.set {
		asks = c.permission.ask.on
	}
	if c.claim != nil { // it was asked about, whatever is configured now
		asks = true
	}
	if !asks && len(file.Policies) == 0 {
		return nil
	}
	policies, err := policiesOf(file, o.Workspace)
	if err != nil {
		return err
	}
	g := &permit.Gate{Store: permit.InConfig{Path: file.Path}, Policies: policies, Open: !asks, Wait: c.permission.ask.wait, OneCall: true}
	c.request.Caller = permit.Caller{Agent: c.agent, Project: c.project}
	if !c.wrapping {
		if tty, err := openTerminal(); err == nil {
			tty.Close()
			c.request.Authorize = askOnTerminal
			c.sessionGate(o, g)
		}
	}
	o.Gate, c.asks = g, asks
	agent, known := file.Agents[c.agent]
	c.trusts, c.agentKnown = agent.TrustUntrusted, known
	if !c.permission.noPark && c.claim == nil {
		if store, err := approvalsStore(); err == nil { // without a place nothing is kept
			g.Parking = approvals.Lot{Store: store, Origin: c.origin}
		}
	}
	return nil
}

// hideState keeps what waits from being read by commands, where the table of
// credentials does not know the place.
func hideState(o *sbx.Options) {
	if os.Getenv("XDG_STATE_HOME") == "" {
		return
	}
	if store, err := approvalsStore(); err == nil {
		if _, err := os.Lstat(store.Path); err == nil {
			o.Hide = append(o.Hide, store.Path)
		}
	}
}

// policiesOf loads the policies of a configuration.
func policiesOf(file config.Config, workspace string) ([]permit.Scope, error) {
	where := shell.Where{Cwd: workspace, Workspace: workspace, Home: os.Getenv("HOME")}
	scopes, err := permit.FromConfig(file.Policies, func(command string) permit.Call { return permit.Read(command, where) })
	if err != nil {
		return nil, usage(fmt.Sprintf("config %q: %s", file.Path, err), "sbx policy lint says which are in order; nothing runs while one is not")
	}
	return scopes, nil
}

// run is the context of the command's one run.
func (c *execCall) run() context.Context {
	ctx := context.Background()
	if c.engine == nil || !c.gated {
		return ctx
	}
	ctx, run := permit.Begin(ctx, c.trusts)
	if c.asks && (c.permission.tainted || os.Getenv(taintedVar) == "1") { // policies alone look at no grant
		run.Taint()
	}
	return ctx
}

// notPermitted says what the gate refused, and what would allow it.
func (s *streams) notPermitted(e *permit.RefusedError) {
	s.say("refused", e.Error())
	if e.Kind == permit.RefusedParked {
		s.say("hint", "sbx approvals show "+e.ID+" has all of it; approve "+e.ID+" runs it, deny "+e.ID+" does not")
	}
}

// toModel says it to whoever reads the output of a wrapper: a model, that would try
// again what has to be decided by a person.
func (s *streams) toModel(e *permit.RefusedError) {
	s.say("refused", strings.TrimPrefix(e.ForModel("sbx"), "Error: "))
}

// unsaved says that a grant could not be kept.
func (s *streams) unsaved(r sbx.Result) {
	if p := r.Permission; p != nil && p.Unsaved != "" {
		s.fail(errors.New("what was permitted could not be kept, so that the next one asks again: " + p.Unsaved))
	}
}

// claimed has the call of this process run, and no other. What it would be refused
// for is found before, so that it still waits then.
func (c *execCall) claimed(engine *sbx.Engine) error {
	if _, err := engine.Plan(c.run(), c.request); err != nil {
		return err
	}
	return c.claim()
}

// gate gives a hook the grants and policies of the configuration; nil when there
// are none, and nothing from outside has entered.
func (c *hookCall) gate(w shell.Where) (*hook.Gate, error) {
	file, err := config.Load(os.Getenv)
	if err != nil {
		return nil, err
	}
	who := permit.Caller{Agent: cmp.Or(c.agent, os.Getenv(agentVar)), Project: os.Getenv(projectVar)}
	g := &hook.Gate{Grants: file.Grants, Caller: who, Tainted: os.Getenv(taintedVar) == "1"}
	if who.Agent != "" {
		agent := file.Agents[who.Agent]
		g.Grants, g.Tainted = agent.AutoApprove, g.Tainted && !agent.TrustUntrusted
	}
	workspace := cmp.Or(w.Workspace, w.Cwd)
	if lies(file.Path, workspace) { // the agent may have written them
		g.Grants = nil
	}
	if len(g.Grants)+len(file.Policies) == 0 && !g.Tainted {
		return nil, nil
	}
	g.Policies, err = policiesOf(file, workspace)
	return g, err
}
