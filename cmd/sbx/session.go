package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/warm"
)

const sessionHelp = `sbx session: keep a container between commands, so that each starts at once.

  sbx session start --backend docker      for this workspace and these settings
  sbx session exec --backend docker -- make test
                                          as sbx exec; starts one if there is none
  sbx session ls                          what is kept
  sbx session stop                        those of this workspace
  sbx session stop --all

start and exec take the flags of sbx exec. A session is used by commands with the
same workspace, settings and shared directories only; one with others gets its own.
It ends by itself after 30 minutes without a command. Commands of one session see
each other's processes and /tmp; what a command starts ends with it.

PEPE_SANDBOX_SESSION=auto, or --session auto, does as session exec in every call.

Exit status: 0, 2 usage, 125 it could not be done; of exec as for sbx exec --help.
`

// sessionVar makes sessions the rule.
const sessionVar = "PEPE_SANDBOX_SESSION"

func sessionCommand(s *streams, args []string) int {
	action := append(args, "")[0]
	switch action {
	case "start":
		return sessionStart(s, args[1:])
	case "exec":
		return sessionExec(s, args[1:])
	case "ls":
		return sessionList(s, args[1:])
	case "stop":
		return sessionStop(s, args[1:])
	case "--help", "-h", "-help":
		s.help(sessionHelp)
		return exitOK
	}
	s.fail(unknownAction("session", action, "sbx session start, exec, ls or stop"))
	return exitUsage
}

// sessionExec is sbx exec with a session.
func sessionExec(s *streams, args []string) int {
	c, err := parseExec(args, "session")
	c.ended = func(r sbx.Result, _ int) {
		if r.Backend != "" && !inContainers(r.Backend) {
			s.say("hint", "no session was used: the backend "+r.Backend+" keeps none (--backend docker, podman or containerd)")
		}
	}
	return c.start(s, err, sessionHelp)
}

// sessionStart opens a session and runs nothing in it.
func sessionStart(s *streams, args []string) int {
	c := newExecCall("session start")
	c.session.value = sessionAuto
	err := c.parse(args)
	if errors.Is(err, errHelp) {
		s.help(sessionHelp)
		return exitOK
	}
	if words := append(c.operands, c.after...); err == nil && len(words) > 0 {
		err = usage("start takes no operand", "sbx session exec -- "+strings.Join(words, " "))
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	options, err := c.settings()
	if err == nil {
		err = c.openSession(options)
	}
	if err != nil {
		s.report(err)
		return exitNotStarted
	}
	return exitOK
}

// openSession plans a command: that opens the session, and runs nothing.
func (c *execCall) openSession(o sbx.Options) error {
	engine, err := c.newEngine(o)
	if err != nil {
		return err
	}
	defer engine.Close()
	if !inContainers(o.Backend) {
		return usage("the backend "+o.Backend+" keeps no sessions", "--backend docker, podman or containerd")
	}
	_, err = engine.Plan(context.Background(), sbx.Request{Argv: []string{"true"}})
	return err
}

const sessionAuto = "auto"

// sessionWanted says whether a call uses sessions.
func (c *execCall) sessionWanted() (bool, error) {
	value := c.session.value
	if value == "" {
		switch value = os.Getenv(sessionVar); value {
		case "", "off", sessionAuto:
		default:
			return false, fmt.Errorf("read %s: want auto or off, have %q", sessionVar, value)
		}
	}
	// A temp directory for one run would be another container for each.
	return value == sessionAuto && c.temp.value != "run", nil
}

// sessionDir holds the sessions of the caller.
func sessionDir() (string, error) { return stateFile("sessions") }

// stateFile is a place in sbx's state.
func stateFile(name string) (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "sbx", name), nil
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "sbx", name), nil
	}
	return "", usage("there is no place for sbx's state", "set HOME or XDG_STATE_HOME")
}

// warmed puts a backend that keeps sessions in the place of one that can.
func warmed(r *sandbox.Registry, backend string, signals <-chan os.Signal) (*sandbox.Registry, error) {
	dir, err := sessionDir()
	if err != nil {
		return nil, err
	}
	kept := sandbox.NewRegistry()
	for _, name := range r.Names() {
		b, err := r.Lookup(name)
		if err != nil {
			return nil, err
		}
		if starter, ok := b.(sandbox.Starter); ok && name == backend {
			keeper := warm.New(starter, dir, 0)
			keeper.Signals = signals
			b = keeper
		}
		kept.Add(b)
	}
	return kept, nil
}

// sessionJSON is one session as --json prints it.
type sessionJSON struct {
	Key       string    `json:"key"`
	Backend   string    `json:"backend"`
	Workspace string    `json:"workspace"`
	Image     string    `json:"image"`
	Container string    `json:"container"`
	Started   time.Time `json:"started"`
}

func sessionList(s *streams, args []string) int {
	f := newFlags("session ls")
	asJSON := f.Bool("json", false, "")
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		s.help(sessionHelp)
		return exitOK
	}
	if err == nil && len(f.operands)+len(f.after) > 0 {
		err = usage("ls takes no operand", "")
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	list, err := sessionsHere()
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	out := []sessionJSON{}
	for _, r := range list {
		image := r.Profile.Container.Image
		if image == "" {
			image = sandbox.DefaultImage
		}
		out = append(out, sessionJSON{r.Key, r.Backend, r.Profile.Workspace, image, r.Warm.ID, r.Started})
	}
	if *asJSON {
		_ = writeJSON(s.out, map[string]any{"sessions": out})
		return exitOK
	}
	for _, o := range out {
		fmt.Fprintf(s.out, "%s  %-6s  %s  %s  %s\n", o.Key, o.Backend, o.Started.Format(time.DateTime), visible(o.Image), visible(o.Workspace))
	}
	return exitOK
}

func sessionsHere() ([]warm.Record, error) {
	dir, err := sessionDir()
	if err != nil {
		return nil, err
	}
	return warm.List(dir)
}

func sessionStop(s *streams, args []string) int {
	f := newFlags("session stop")
	all := f.Bool("all", false, "")
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		s.help(sessionHelp)
		return exitOK
	}
	keys := append(f.operands, f.after...)
	if err == nil && *all && len(keys) > 0 {
		err = usage("--all and a key", "leave one of them out")
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	list, err := sessionsHere()
	if err == nil {
		list, err = selectSessions(list, keys, *all)
	}
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	status := exitOK
	for _, r := range list {
		if err := stopSession(r); err != nil {
			s.fail(err)
			status = exitNotStarted
		}
	}
	return status
}

// selectSessions are those that were named, else those of this directory.
func selectSessions(list []warm.Record, keys []string, all bool) ([]warm.Record, error) {
	for _, key := range keys {
		if !slices.ContainsFunc(list, func(r warm.Record) bool { return r.Key == key }) {
			return nil, usage("there is no session "+quote(key), "sbx session ls lists them")
		}
	}
	here, err := os.Getwd()
	if err != nil && len(keys) == 0 && !all {
		return nil, usage("find the current directory: "+err.Error(), "name the session, or --all")
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real
	}
	return slices.DeleteFunc(list, func(r warm.Record) bool {
		return !all && !slices.Contains(keys, r.Key) && (len(keys) > 0 || r.Profile.Workspace != here)
	}), nil
}

func stopSession(r warm.Record) error {
	file, err := config.Load(os.Getenv)
	if err != nil {
		return err
	}
	known, err := registry(file, r.Backend)
	if err != nil {
		return err
	}
	b, err := known.Lookup(r.Backend)
	if err != nil {
		return err
	}
	starter, ok := b.(sandbox.Starter)
	if !ok {
		return fmt.Errorf("stop session %s: the backend %s keeps no sessions", r.Key, r.Backend)
	}
	return warm.Stop(context.Background(), starter, r)
}
