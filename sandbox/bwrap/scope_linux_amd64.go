package bwrap

import (
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/spawn"
)

const (
	scopeAbstract = 1 // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	scopingABI    = 6 // the first that has it
)

// canScope says whether Landlock can keep a process from abstract sockets that
// others have bound. It leaves mounts alone as long as no files are its business.
func canScope() bool {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && abi >= scopingABI
}

// planScope does it, for bwrap and all that it starts.
func planScope(p *spawn.Plan) {
	rules := p.NewRef()
	attr := &unix.LandlockRulesetAttr{Scoped: scopeAbstract}
	p.Call("make landlock ruleset", unix.SYS_LANDLOCK_CREATE_RULESET, []uintptr{spawn.Ptr(p, attr), 24, 0}, spawn.Store(rules))
	p.Call("enter landlock domain", unix.SYS_LANDLOCK_RESTRICT_SELF, nil, spawn.Load(rules))
}
