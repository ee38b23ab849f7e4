// Package direct is the embedded backend for Linux: the command is a child of
// this process on this host, confined by the kernel. Nothing has to be
// installed.
//
// Tiers are tried from the strongest down. Today there is one, landlock:
// Landlock for files, signals and abstract sockets, seccomp for system calls,
// no_new_privs, no capabilities. The full tier (namespaces and mounts) takes
// its place above it.
package direct

import "github.com/sbx-run/sbx/sandbox"

// Name is the word for --backend and the configuration.
const Name = "direct"

// Backend confines by Landlock and seccomp. It is safe for concurrent use.
type Backend struct{}

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
