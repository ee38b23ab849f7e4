// Package direct is the embedded backend for Linux: the command is a child of
// this process on this host, confined by the kernel. Nothing has to be
// installed.
//
// Tiers are tried from the strongest down. full: namespaces, mounts and a
// process 1, and then all of landlock. full-noproc: the same where /proc cannot
// be mounted. landlock: Landlock for files, signals and abstract sockets,
// seccomp for system calls, no_new_privs, no capabilities.
package direct

import "github.com/sbx-run/sbx/sandbox"

// Name is the word for --backend and the configuration.
const Name = "direct"

// Backend confines by namespaces, Landlock and seccomp. It is safe for
// concurrent use.
type Backend struct{ only variant }

// variant narrows what is tried. The zero value is what is shipped; tests use
// the rest.
type variant struct {
	tier   string // this one alone
	thread bool   // the landlock tier by way of a restricted thread
	// To prove that the suite notices what is missing: omit picks steps to leave
	// out, by their names, and share is the namespaces (CLONE_NEW*) that stay the
	// host's.
	omit  func(step string) bool
	share uintptr
	// ungrouped is a host where no control group can be made.
	ungrouped bool
}

// New returns the backend. On other systems than Linux it exists and says
// sandbox.ErrUnsupported.
func New() *Backend { return &Backend{} }

// Name returns "direct".
func (*Backend) Name() string { return Name }

var _ sandbox.Backend = (*Backend)(nil)

// Environment returns "NAME=value" entries without which usual programs stop at
// a credential file that exists but cannot be read. They stand below what the
// caller sets on purpose.
func Environment() []string {
	return []string{
		"npm_config_userconfig=/dev/null", // instead of ~/.npmrc
		"NETRC=/dev/null",                 // instead of ~/.netrc: go, Python's requests
	}
}

// CanPreview says that the tier full keeps what is written in a layer.
func (b *Backend) CanPreview() bool { return true }
