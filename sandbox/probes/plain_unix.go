//go:build unix

package probes

import (
	"context"
	"errors"
	"os/exec"

	"github.com/sbx-run/sbx/sandbox"
)

// runPlain is the control: the command as it is.
func runPlain(ctx context.Context, c sandbox.Command) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	plain := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	plain.Dir, plain.Env, plain.Stdin, plain.Stdout, plain.Stderr = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr
	err := plain.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
