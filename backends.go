package sbx

import (
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bwrap"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/firejail"
	"github.com/sbx-run/sbx/sandbox/helper"
	"github.com/sbx-run/sbx/sandbox/none"
	"github.com/sbx-run/sbx/sandbox/seatbelt"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// Backends lists every backend of this build, the ones that confine most first.
// Options.Backend names one; where it names none, package sandbox/choice chooses
// among all but those that are used by name only. Those of a helper are there when
// the helper is; programs in Go can add sandbox/docker to a registry of their own
// instead.
func Backends() *sandbox.Registry {
	r := sandbox.NewRegistry()
	r.Add(direct.New())
	r.Add(seatbelt.New(seatbelt.Options{}))
	r.Add(bwrap.New())
	r.Add(firejail.New())
	r.Add(helper.New("docker"))
	r.Add(helper.New("podman"))
	r.Add(helper.New("containerd"))
	r.Add(ssh.New(ssh.Options{})) // refuses until a registry of one's own names a machine
	r.Add(none.New())
	return r
}
