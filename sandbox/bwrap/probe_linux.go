//go:build amd64 || arm64

package bwrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// acts is what the probe does inside, in a shell that starts no program: what
// must be refused ends it with a number of its own.
const acts = `
( : >/sbx-probe ) 2>/dev/null && exit 10
( : >"$1/sbx-probe" ) 2>/dev/null && exit 11
[ "$$" = 2 ] || exit 12
while read -r name value _; do
	case $name in
	NoNewPrivs:) [ "$value" = 1 ] || exit 13 ;;
	Seccomp:) [ "$value" = 2 ] || exit 14 ;;
	CapEff: | CapPrm: | CapBnd: | CapAmb:) [ "$value" = 0000000000000000 ] || exit 15 ;;
	esac
done </proc/self/status || exit 16
( : >/tmp/sbx-probe ) 2>/dev/null || exit 17
`

// firstRefusal is the number of the first of refusals.
const firstRefusal = 10

// refusals is what the numbers mean.
var refusals = [...]string{
	"/ can be written", "a directory outside can be written", "it is not in a pid namespace of its own",
	"no_new_privs is not set", "no filter of system calls is in force", "it has capabilities", "its /proc cannot be read",
	"it has no temp directory",
}

// Probe runs a command that tries what must not work. The gaps are those of a
// run with the network off; Open says what a profile really gets.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	unavailable := func(err error) (sandbox.Capabilities, error) {
		if !errors.Is(err, sandbox.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
		}
		return sandbox.Capabilities{}, fmt.Errorf("probe %s: %w", Name, err)
	}
	outside, err := os.MkdirTemp("", "sbx-probe-")
	if err != nil {
		return unavailable(err)
	}
	defer os.RemoveAll(outside)
	opened, err := b.Open(ctx, sandbox.Profile{Accept: sandbox.Controls()})
	if err != nil {
		return unavailable(err)
	}
	defer opened.Close()
	s := opened.(*session)
	command := sandbox.Command{Argv: []string{"/bin/sh", "-c", acts, "sh", outside}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}
	result, err := s.Run(ctx, command)
	switch n := result.ExitCode - firstRefusal; {
	case err != nil:
		return unavailable(err)
	case n >= 0 && n < len(refusals):
		return unavailable(errors.New("a command that bwrap confined shows that " + refusals[n]))
	case result.ExitCode != 0:
		return unavailable(fmt.Errorf("a command that bwrap confined ended with %d", result.ExitCode))
	}
	version, err := versionOf(ctx, s.program)
	if err != nil {
		return unavailable(err)
	}
	d := decide(sandbox.Profile{}, s.facts)
	return sandbox.Capabilities{Backend: Name, Tier: result.Tier, Version: version, Enforced: d.enforced, Gaps: d.gaps}, nil
}

// versionOf asks bwrap.
func versionOf(ctx context.Context, program string) (string, error) {
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Env = []string{"LC_ALL=C"}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", program, err)
	}
	return strings.TrimSpace(out.String()), nil
}
