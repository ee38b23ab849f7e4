package direct

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// Probe confines a thread of its own and tries what must not work there. The
// gaps are those of a supervised run with the network off; Open says what a
// profile really gets.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	if err := ctx.Err(); err != nil {
		return sandbox.Capabilities{}, err
	}
	abi, err := landlockABI()
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	steps, err := b.ladder(sandbox.Profile{})
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	for _, t := range steps {
		if t.try == nil {
			continue
		}
		if failed := trial(t); failed != nil {
			err = errors.Join(err, failed)
		} else {
			d := decideFull(abi, sandbox.Profile{}, t.name == tierFullNoProc)
			return sandbox.Capabilities{
				Backend: Name, Tier: t.name, Version: versionOf(abi), Enforced: d.enforced, Gaps: d.gaps,
			}, nil
		}
	}
	if steps[len(steps)-1].try != nil {
		return sandbox.Capabilities{}, err
	}
	p := sandbox.Profile{Supervisor: true}
	s := &session{profile: p, only: b.only, abi: abi, decision: decide(abi, p, nil, nil)}
	sayWhy(s.decision.gaps)
	if err = s.getFilter(); err != nil {
		return sandbox.Capabilities{}, err
	}
	ruleset, err := createRuleset(s.decision)
	if err != nil {
		return sandbox.Capabilities{}, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	defer unix.Close(ruleset)
	if err := s.tried(ruleset); err != nil {
		return sandbox.Capabilities{}, fmt.Errorf("probe landlock tier: %w: %w", err, sandbox.ErrUnavailable)
	}
	return sandbox.Capabilities{
		Backend: Name, Tier: tierLandlock, Version: versionOf(abi),
		Enforced: s.decision.enforced, Gaps: s.decision.gaps,
	}, nil
}

// deniedAct must work unconfined and be refused inside.
type deniedAct struct {
	name string
	do   func() error
	want error
}

func acts() []deniedAct {
	return []deniedAct{
		{"open /dev/null for writing", openNull, unix.EACCES},
		{"make a unix socket", unixSocket, unix.EPERM},
	}
}

func (s *session) tryThread(ruleset int) error {
	return proc.OnThread(func(t proc.Thread) error { return s.try(ruleset, t) })
}

// control does each act without confinement, where it must work. Where a sandbox
// around this one refuses it already, it shows nothing, and stays refused.
func control() error {
	for _, a := range acts() {
		if err := a.do(); err != nil && !errors.Is(err, a.want) {
			return fmt.Errorf("%s, unconfined: %w", a.name, err)
		}
	}
	return nil
}

// try runs on a thread that ends afterwards. Each act is done once before the
// thread is confined, and once after.
func (s *session) try(ruleset int, t proc.Thread) error {
	if err := control(); err != nil {
		return err
	}
	if err := s.restrict(ruleset, t); err != nil {
		return err
	}
	for _, a := range acts() {
		if err := a.do(); !errors.Is(err, a.want) {
			return fmt.Errorf("%s, confined: want %v, got %v", a.name, a.want, err)
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 0, 0, 0); errno != unix.ENOSYS {
		return fmt.Errorf("system call filter %s: io_uring_setup answers %v", filter.Base, errno)
	}
	return nil
}

func openNull() error { return closing(unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)) }

func unixSocket() error {
	return closing(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
}

func closing(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// versionOf is what the tiers stand on.
func versionOf(abi int) string {
	return "landlock ABI " + strconv.Itoa(abi) + ", Linux " + release()
}

// release is that of the kernel, which does not change while a process lives.
var release = sync.OnceValue(func() string {
	var u unix.Utsname
	_ = unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:])
})
