package direct

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/landlock"
)

// landlockABI asks the kernel for its Landlock ABI.
func landlockABI() (int, error) {
	v, err := landlock.ABI()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return 0, fmt.Errorf("landlock is not in this kernel (Linux 5.13 or newer has it): %w", sandbox.ErrUnavailable)
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, fmt.Errorf("landlock is switched off (add it to lsm= on the kernel's command line): %w", sandbox.ErrUnavailable)
	case err != nil:
		return 0, fmt.Errorf("ask for landlock: %w: %w", err, sandbox.ErrUnavailable)
	}
	return min(v, newestABI), nil
}

// createRuleset makes a ruleset that refuses what was decided.
func createRuleset(d decision) (int, error) {
	fd, err := landlock.Create(d.handled, d.scoped)
	if err != nil {
		return -1, fmt.Errorf("create landlock ruleset: %w", err)
	}
	return fd, nil
}

// granter adds rules to a ruleset. Most of their paths lie beside one another, so
// it keeps the directory of the last one open.
type granter struct {
	ruleset int
	above   string // "" : none
	fd      int
}

func (g *granter) close() {
	if g.above != "" {
		_ = unix.Close(g.fd)
		g.above = ""
	}
}

func (g *granter) open(name string, flags int) (int, error) {
	at := strings.LastIndexByte(name, '/')
	if above := name[:max(at, 0)]; above == "" || name == above+"/" {
		return unix.Open(name, flags, 0)
	} else if above != g.above {
		g.close()
		fd, err := unix.Open(above, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		g.above, g.fd = above, fd
	}
	return unix.Openat(g.fd, name[at+1:], flags, 0)
}

// path opens and grants. What has vanished or cannot be reached is left out: the
// command would not reach it either.
func (g *granter) path(name string, rights uint64, dir bool) error {
	flags := unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW
	if dir {
		flags |= unix.O_DIRECTORY
	} else {
		rights &= fileRights
	}
	fd, err := g.open(name, flags)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return nil
		}
		return fmt.Errorf("open %q: %w", name, err)
	}
	defer unix.Close(fd)
	if err := landlock.Allow(g.ruleset, fd, rights); err != nil {
		// Some kernel file systems (pipes, namespaces) take no rules: they are
		// not below any path that a rule could grant.
		if errors.Is(err, unix.EBADFD) || errors.Is(err, unix.EBADF) {
			return nil
		}
		return fmt.Errorf("add landlock rule %q: %w", name, err)
	}
	return nil
}
