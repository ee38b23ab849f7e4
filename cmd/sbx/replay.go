package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/sbx-run/sbx/approvals"
	"github.com/sbx-run/sbx/permit"
)

// origin is what is needed to call sbx again as it was called. Words are bytes:
// an argument need not be UTF-8.
type origin struct {
	Verb  string   `json:"verb"` // exec, run, or the wrapper's name
	Args  [][]byte `json:"args"`
	Dir   []byte   `json:"dir"`
	Env   [][]byte `json:"env"`   // the variables that sbx itself heeds
	Known bool     `json:"known"` // the agent is in the configuration
}

// heeded reports a variable that says how sbx runs a command.
func heeded(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return strings.HasPrefix(name, "PEPE_SANDBOX_") || name == agentVar || name == projectVar || name == sessionVar
}

// origin describes this call.
func (c *execCall) origin(permit.Waiting) (json.RawMessage, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current directory: %w", err)
	}
	o := origin{Verb: c.verb, Dir: []byte(dir), Known: c.agentKnown}
	for _, a := range c.args {
		o.Args = append(o.Args, []byte(a))
	}
	for _, e := range os.Environ() {
		if heeded(e) {
			o.Env = append(o.Env, []byte(e))
		}
	}
	return json.Marshal(o)
}

// called says how sbx was called, but for the command itself: flags can open what
// confines it. "" where another program has parked it, or somebody has decided.
func called(r approvals.Record) string {
	var o origin
	if err := json.Unmarshal(r.Origin, &o); err != nil || o.Verb == "" {
		return ""
	}
	var words []string
	for _, e := range o.Env {
		words = append(words, spelled(string(e)))
	}
	if o.Verb == wrapperName {
		return strings.Join(append(words, wrapperName, "…"), " ")
	}
	words = append(words, "sbx", o.Verb)
	for _, a := range o.Args {
		switch word := string(a); {
		case word == string(r.Subject):
			words = append(words, "…")
		case word == "--" && o.Verb != "run":
			return strings.Join(append(words, "--", "…"), " ")
		default:
			words = append(words, spelled(word))
		}
	}
	return strings.Join(words, " ")
}

// spelled is a word as it can be told from its neighbours.
func spelled(word string) string {
	if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'`\\$", r) }) {
		return quote(word)
	}
	return word
}

// replayed is the call that was parked, ready to start. This process serves
// nothing else: it moves to the directory and the variables of the call.
func replayed(r approvals.Record) (*execCall, error) {
	var o origin
	if err := json.Unmarshal(r.Origin, &o); err != nil || o.Verb == "" {
		return nil, usage("this was parked by another program, which has to run it", "")
	}
	if err := agentIsThere(r.Agent, o.Known); err != nil {
		return nil, err
	}
	if err := os.Chdir(string(o.Dir)); err != nil {
		return nil, fmt.Errorf("go to where it was called: %w", err)
	}
	for _, e := range os.Environ() {
		if heeded(e) {
			name, _, _ := strings.Cut(e, "=")
			os.Unsetenv(name)
		}
	}
	for _, e := range o.Env {
		name, value, _ := strings.Cut(string(e), "=")
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	args := make([]string, len(o.Args))
	for i, a := range o.Args {
		args[i] = string(a)
	}
	var c *execCall
	var err error
	switch o.Verb {
	case "run":
		c, err = parseRun(args)
	case wrapperName:
		c = wrappedCall(args)
	case "exec":
		c, err = parseExec(args, "exec")
	case "session":
		c, err = parseExec(args, "session")
	default:
		err = usage("a verb that this version does not know: "+quote(o.Verb), "")
	}
	if err != nil {
		return nil, err
	}
	c.result = "" // its descriptor, or its reader, is no more
	c.permission.tainted = r.Tainted
	return c, nil
}
