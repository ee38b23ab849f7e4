//go:build amd64 || arm64

package under

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/landlock"
	"github.com/sbx-run/sbx/sandbox/layout"
)

const (
	scopeAbstract = 1 // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	scopeSignal   = 2 // LANDLOCK_SCOPE_SIGNAL
	scopingABI    = 6 // the first that has them
)

// Scopes says whether Landlock can keep the command from processes and abstract
// sockets outside. Namespaces alone do not: process group 0 of the command may be
// that of the caller, and the network that of the host.
func Scopes() bool {
	abi, err := landlock.ABI()
	return err == nil && abi >= scopingABI
}

// confine makes the ruleset that our process enters, as far as this kernel has it. It
// scopes, and lets nothing be written yet.
func (r *Run) confine() error {
	if err := layout.CheckStreams(r.Profile, r.Streams); err != nil {
		return err
	}
	abi, _ := landlock.ABI()
	if !landlock.HoldsStreams(abi) {
		return layout.CheckOutside(r.Profile, r.Streams)
	}
	var scoped uint64
	if abi >= scopingABI {
		scoped = scopeAbstract | scopeSignal
	}
	var err error
	if r.domain, err = landlock.Writes(scoped); err != nil {
		return err
	}
	return landlock.AllowStreams(r.domain, r.Streams)
}

// enclose lets the command write where the program has made it possible: nowhere
// else, by whatever way it gets there. Rules go by the file, so the root of the sandbox,
// which is the host's, cannot stand for all of them.
func (r *Run) enclose(pid int) error {
	if r.domain < 0 {
		return nil
	}
	root, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the command's root: %w", err)
	}
	defer unix.Close(root)
	var done []string
	for _, name := range r.Writable {
		if slices.ContainsFunc(done, func(above string) bool { return layout.IsBelow(name, above) }) {
			continue
		}
		allowed, err := allowPlace(r.domain, root, name)
		if err != nil {
			return fmt.Errorf("let the command write %q: %w", name, err)
		}
		if allowed {
			done = append(done, name)
		}
	}
	return nil
}

// allowPlace lets a place be written. One that we cannot reach the command does not
// reach, either.
func allowPlace(ruleset, root int, name string) (bool, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(root, name, &how)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return false, nil
	case err != nil:
		return false, err
	}
	defer unix.Close(fd)
	return true, landlock.AllowBelow(ruleset, fd)
}
