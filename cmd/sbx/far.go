package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/ssh/far"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// farName is the subcommand that the backend ssh of another machine calls. It is
// in no list: nobody types it.
const farName = "far"

// farCommand runs commands of another machine's sbx. With --version it prints
// the version of the protocol, by which that one knows what it has found.
func farCommand(s *streams, args []string) int {
	switch {
	case len(args) == 0:
		return far.Serve(s.in, s.out, farRunner{})
	case len(args) == 1 && args[0] == "--version":
		fmt.Fprintln(s.out, wire.Version)
		return exitOK
	}
	s.fail(usage("far is called by the sbx of another machine", "sbx exec --backend ssh runs commands there"))
	return exitUsage
}

// farRunner confines by the engine of this machine.
type farRunner struct{}

func (farRunner) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	return direct.New().Probe(ctx)
}

func (farRunner) Plan(ctx context.Context, t far.Task) (sandbox.Plan, error) {
	engine, request, err := errand(t)
	if err != nil {
		return sandbox.Plan{}, err
	}
	defer engine.Close()
	plan, err := engine.Plan(ctx, request)
	return plan.Plan, err
}

func (farRunner) Run(ctx context.Context, t far.Task) (sandbox.Result, error) {
	engine, request, err := errand(t)
	if err != nil {
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: exitNotStarted}, err
	}
	defer engine.Close()
	result, err := engine.Run(ctx, request)
	return result.Result, err
}

// errand makes the engine for a task, and the request. Nothing of this process'
// environment but who and where it is reaches the command.
func errand(t far.Task) (*sbx.Engine, sbx.Request, error) {
	p := t.Order.Profile
	o := sbx.Options{
		Backend: direct.Name, Environ: selected(os.Environ(), wire.MachineVars[:]), Network: p.Network, Explain: p.Explain, AllowUnix: p.UnixAllow,
		ReadOnly: p.ReadOnly, Limits: p.Limits, Required: p.Required, AcceptGaps: p.Accept, Tier: p.Tier, MinTier: p.MinTier,
		Supervisor: true, Errand: &sbx.Errand{}, Redact: sbx.RedactNone, // the near side does it
		// What does not exist here needs no rule; what may be written must exist.
		Read: existing(p.Read), Hide: existing(p.Hide), Write: p.Write,
	}
	if p.Egress != nil {
		o.NetworkRules = p.Egress.Rules
	}
	for _, path := range p.Protect {
		o.Errand.Protect = append(o.Errand.Protect, t.Here(path))
	}
	private := p.Private
	shared := t.Order.Shared && both(private)
	if shared {
		private = sandbox.Private{} // they are here, too
	}
	env := wire.Crossing(t.Env, private, func(dir string) bool { return t.Order.Shared && isDir(dir) })
	if t.Order.Shared {
		o.Errand.Identity = p.Identity
		if isDir(p.Home) {
			o.Errand.Home = p.Home
		}
		if shared {
			o.Errand.Private = &p.Private
		}
	}
	engine, err := sbx.New(o)
	return engine, sbx.Request{
		Argv: t.Argv, Workspace: t.Workspace, Dir: t.Dir, Env: env, Timeout: t.Order.Timeout, Grace: t.Order.Grace,
		Stdin: t.Stdin, Stdout: t.Stdout, Stderr: t.Stderr, Orphaned: t.Orphaned, Signals: t.Signals,
	}, err
}

// selected are the entries of an environment with these names.
func selected(env, names []string) []string {
	var list []string
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(names, name) {
			list = append(list, kv)
		}
	}
	return list
}

func existing(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}

// both says whether the private directories of the other machine are here, too.
func both(p sandbox.Private) bool { return isDir(p.Temp) && isDir(p.Cache) }

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && filepath.IsAbs(path)
}
