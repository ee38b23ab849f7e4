package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// explainFlag is --explain-denials, with or without a value.
type explainFlag struct {
	value sandbox.Explain
	set   bool
}

func (e *explainFlag) String() string { return "" }

func (e *explainFlag) IsBoolFlag() bool { return true }

func (e *explainFlag) Set(v string) error {
	switch v {
	case "off":
		e.value = sandbox.ExplainNone
	case "true", "writes": // the flag alone
		e.value = sandbox.ExplainWrites
	case "reads":
		e.value = sandbox.ExplainReads
	default:
		return &hintedError{msg: "no such value", hint: meant(v, []string{"off", "writes", "reads"}, "--explain-denials=", "write --explain-denials, --explain-denials=reads or --explain-denials=off")}
	}
	e.set = true
	return nil
}

// maxDenialLines bounds what is printed about refusals. The record has them all.
const maxDenialLines = 3

// denials tells what the sandbox refused, in a few lines. They come from the
// kernel and from the network's layers, never from what the command printed.
func (s *streams) denials(r sbx.Result) {
	for i, d := range r.Denials {
		if i == maxDenialLines {
			more := len(r.Denials) - i + r.DenialsBeyond
			s.say("refused", fmt.Sprintf("%d more; --result FILE has them all", more))
			break
		}
		s.say("refused", d.String())
	}
	if r.NetworkError != "" {
		s.say("error", r.NetworkError)
	}
}

// explaining are the backends that can tell what they refuse.
var explaining = [...]string{direct.Name, ssh.Name}

// moreToTell is what to try when a command failed and nothing was recorded: for
// a person at a terminal, who can try it. That the sandbox is the reason is not
// said, because it is not known.
func (c *execCall) moreToTell(s *streams, r sbx.Result) string {
	failed := r.Ending == sandbox.Exited && r.ExitCode != 0 && r.ExitCode < exitRefused
	if !failed || len(r.Denials) > 0 || c.wrapping || !slices.Contains(explaining[:], r.Backend) || !isTerminal(s.err) {
		return ""
	}
	if r.ExitCode == 1 && answersWithOne(filepath.Base(c.program())) || hasGap(r.Gaps, sandbox.DenialsExplained) {
		return ""
	}
	switch c.explain.value {
	case sandbox.ExplainNone:
		return "if the sandbox may be the reason, --explain-denials tells what it refused"
	case sandbox.ExplainWrites:
		return "no write was refused; --explain-denials=reads tells of hidden files that were not read"
	}
	return ""
}

// answersWithOne says that the program says no with status 1, which is no failure.
func answersWithOne(program string) bool {
	return slices.Contains([]string{
		"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "diff", "cmp", "test", "[", "false", "expr", "which", "pgrep", "pidof",
	}, program)
}

func hasGap(gaps []sandbox.Gap, c sandbox.Control) bool {
	return slices.ContainsFunc(gaps, func(g sandbox.Gap) bool { return g.Control == c })
}
