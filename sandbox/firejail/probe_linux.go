//go:build amd64 || arm64

package firejail

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/under"
)

// Probe runs a command: it starts only when what firejail made was looked at, and
// shows that the filter of system calls is in force. The gaps are those of a run
// with the network off; Open says what a profile really gets.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	unavailable := func(err error) (sandbox.Capabilities, error) {
		if !errors.Is(err, sandbox.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
		}
		return sandbox.Capabilities{}, fmt.Errorf("probe %s: %w", Name, err)
	}
	opened, err := b.Open(ctx, sandbox.Profile{Accept: sandbox.Controls()})
	if err != nil {
		return unavailable(err)
	}
	defer opened.Close()
	s := opened.(*session)
	const acts = `( : >/sbx-probe ) 2>/dev/null && exit 10
while read -r name value _; do [ "$name" != Seccomp: ] || [ "$value" = 2 ] || exit 11; done </proc/self/status`
	result, err := s.Run(ctx, sandbox.Command{Argv: []string{"/bin/sh", "-c", acts}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}})
	if err == nil && result.ExitCode != 0 {
		err = fmt.Errorf("a command that firejail confined ended with %d", result.ExitCode)
	}
	if err != nil {
		return unavailable(err)
	}
	cmd := exec.CommandContext(ctx, s.program, "--version")
	cmd.Env = []string{"LC_ALL=C"}
	out, err := cmd.Output()
	if err != nil {
		return unavailable(fmt.Errorf("ask %s for its version: %w", s.program, err))
	}
	version, _, _ := strings.Cut(string(out), "\n")
	d := decide(sandbox.Profile{}, facts{follows: follows(), scoped: under.Scopes()})
	return sandbox.Capabilities{Backend: Name, Version: version, Enforced: d.enforced, Gaps: d.gaps}, nil
}
