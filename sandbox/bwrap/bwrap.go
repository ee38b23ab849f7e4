// Package bwrap confines commands with bubblewrap (bwrap), for hosts whose
// security policy lets that program make user namespaces and nobody else, and
// for who prefers a small program that is audited apart. What it is told is a
// pure function of the profile and of facts about the host; what it made of that
// is looked at before the command starts.
//
// bwrap runs unprivileged: where it is installed set-id its privileges are not
// used. Process 1 of the command is ours, so that its end, its signals and its
// streams are those of the backend direct.
package bwrap

import "github.com/sbx-run/sbx/sandbox"

// Name is the word for --backend and the configuration.
const Name = "bwrap"

// The tiers by name.
const (
	tierFull   = "full"
	tierNoProc = "full-noproc" // where /proc cannot be mounted
)

// Backend confines with bubblewrap. It is safe for concurrent use.
type Backend struct{ only variant }

// variant narrows what is done. The zero value is what is shipped; tests use the
// rest.
type variant struct {
	program string // in place of bwrap
	noProc  bool   // as where /proc cannot be mounted
	// omit picks options to leave out, to prove that the suite notices.
	omit func(option []string) bool
	// unwatched leaves out the look at what bwrap has made.
	unwatched bool
}

// New returns the backend. Where it cannot run it exists and says
// sandbox.ErrUnsupported.
func New() *Backend { return &Backend{} }

// Name returns "bwrap".
func (*Backend) Name() string { return Name }

var _ sandbox.Backend = (*Backend)(nil)
