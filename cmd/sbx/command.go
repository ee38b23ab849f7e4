package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
	wrapped "github.com/sbx-run/sbx/sandbox/command"
	"github.com/sbx-run/sbx/sandbox/probes"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// allGaps is the word of --accept-gap and sbx.accept_gaps for every control. It is
// for wrappers that sbx did not write, of which nobody knows what they hold, and for
// other machines on which no sbx runs, where nothing is held. Of any other backend a
// gap is accepted by its name.
const allGaps = "all"

// commandBackend is the wrapper at a path, with what the configuration says of it.
func commandBackend(path string, known []config.Wrapper) (sandbox.Backend, error) {
	var o wrapped.Options
	for _, w := range known {
		if w.Path != path {
			continue
		}
		claims, err := controls("sbx.wrappers."+path+".claims", w.Claims)
		if err != nil {
			return nil, err
		}
		o = wrapped.Options{Claims: claims, Apart: w.Apart, User: w.User}
	}
	return wrapped.New(path, o), nil
}

// runtimesWrapper is the backend for what the runtime's key "sandbox" names. Where
// that is a wrapper of sbx's own, it is how the runtime calls sbx, and says nothing
// about other calls.
func runtimesWrapper(path string) string {
	if path == "" || wrapped.Ours(path) {
		return ""
	}
	return wrapped.Prefix + path
}

// isWrapper says whether a backend is one of command:PATH.
func isWrapper(backend string) bool {
	_, ok := wrapped.Path(backend)
	return ok
}

// acceptedGaps joins those of the configuration and of the flags.
func acceptedGaps(names []string, flags gapNames, backend string) ([]sandbox.Control, error) {
	all := slices.Contains(flags, allGaps)
	if i := slices.Index(names, allGaps); i >= 0 {
		names, all = slices.Delete(slices.Clone(names), i, i+1), true
	}
	list, err := controls("sbx.accept_gaps", names)
	if err != nil {
		return nil, err
	}
	if !all {
		return append(list, flags...), nil
	}
	if !isWrapper(backend) && backend != ssh.Name {
		return nil, usage("gap "+quote(allGaps), "it is for wrappers of your own (--backend command:PATH) and other machines without sbx (--backend ssh); name each gap that you accept")
	}
	return sandbox.Controls(), nil
}

// trueClaims lists what a wrapper may claim: the controls of which something was
// held, and nothing is open that is not another one's doing.
func trueClaims(r probes.Report) string {
	open := map[sandbox.Control]bool{}
	var shared []probes.Outcome
	held := map[sandbox.Control]bool{}
	for _, o := range r.Outcomes {
		switch {
		case len(o.Controls) == 0:
		case o.Status == probes.Held:
			held[o.Controls[0]] = true
		case o.Status != probes.GapNamed && o.Status != probes.NotHeld:
		case len(o.Controls) == 1:
			open[o.Controls[0]] = true
		default:
			shared = append(shared, o)
		}
	}
	for _, o := range shared {
		if !slices.ContainsFunc(o.Controls, func(c sandbox.Control) bool { return open[c] }) {
			open[o.Controls[0]] = true
		}
	}
	var list []string
	for _, c := range sandbox.Controls() {
		if held[c] && !open[c] && wrapped.Claimable(c) {
			list = append(list, strconv.Quote(string(c)))
		}
	}
	return strings.Join(list, ", ")
}
