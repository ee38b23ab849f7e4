package seatbelt

import (
	"os"
	"slices"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// missing is a control that the language has no rule for, or that is one only
// under some profiles.
type missing struct {
	control sandbox.Control
	when    func(sandbox.Profile) bool // nil: always
	why     string
	fix     string
}

func table() []missing {
	on := func(p sandbox.Profile) bool { return p.Network == sandbox.NetworkHost }
	return []missing{
		{control: sandbox.SyscallFilter, why: "macOS documents no filter of system calls; the rules are about operations of the kernel, and what no rule allows of those is refused", fix: "the backend ssh, to a machine with Linux"},
		{control: sandbox.NoCapabilities, when: isRoot, why: "root keeps its rights where the rules allow an operation", fix: "start sbx as an ordinary user"},
		{control: sandbox.DaemonsEnd, why: "a process that leaves its group goes on, confined as it is: macOS gives it to nobody who could end it"},
		{control: sandbox.EndsWithCaller, why: "macOS ends no process with the one that started it"},
		{control: sandbox.Loopback, when: func(p sandbox.Profile) bool { return !on(p) }, why: "the command cannot open sockets for its own servers: their addresses are the machine's"},
		{control: sandbox.HostNetwork, when: on, why: "with the network on the command reaches this machine's own services, and metadata addresses"},
		{control: sandbox.ProcessesHidden, why: "the list of processes is a fact about the machine that many programs read"},
		{control: sandbox.SharedMemory, why: "the names of semaphores are the machine's"},
		{control: sandbox.AllCarried, why: "programs that ignore proxies reach nothing: macOS lets nobody lead their connections elsewhere"},
		{control: sandbox.DenialsExplained, why: "macOS tells what was refused to its own log alone (log stream --predicate 'sender == \"Sandbox\"')"},
		{control: sandbox.LimitsExact, why: "limits are kept from outside"},
	}
}

func isRoot(p sandbox.Profile) bool {
	if p.Identity != nil {
		return p.Identity.UID == 0
	}
	return os.Geteuid() == 0
}

// why says why a control is missing under a profile; "" when it is not.
func why(c sandbox.Control, p sandbox.Profile) (why, fix string) {
	for _, m := range table() {
		if m.control == c && (m.when == nil || m.when(p)) {
			return m.why, m.fix
		}
	}
	if slices.Contains(sandbox.LimitControls(), c) && !slices.Contains(proc.Measured(), c) {
		return "sbx cannot measure it on this system", ""
	}
	return "", ""
}

func gaps(p sandbox.Profile) []sandbox.Gap {
	var list []sandbox.Gap
	for _, c := range sandbox.Controls() {
		if text, fix := why(c, p); text != "" && p.Limits.Speaks(c) && speaks(c, p) {
			list = append(list, sandbox.Gap{Control: c, Why: text, Fix: fix})
		}
	}
	return list
}

// held lists what is promised under a profile.
func held(p sandbox.Profile) []sandbox.Control {
	list := []sandbox.Control{}
	for _, c := range sandbox.Controls() {
		if text, _ := why(c, p); text == "" && p.Limits.Speaks(c) && speaks(c, p) {
			list = append(list, c)
		}
	}
	return list
}

// speaks leaves out what means nothing under a profile: a network that is on is
// not off, and has no rules.
func speaks(c sandbox.Control, p sandbox.Profile) bool {
	switch c {
	case sandbox.NetworkOff:
		return p.Network == sandbox.NetworkNone
	case sandbox.RulesHeld, sandbox.AllCarried:
		return p.Network == sandbox.NetworkRules
	}
	return true
}
