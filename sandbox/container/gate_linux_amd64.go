package container

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

// holdsRules says whether a command can be held to a list of hosts here.
const holdsRules = true

// runRuled runs a command whose only way out is sbx-proxy, which serves a
// listener on the container's own loopback.
func runRuled(ctx context.Context, conn *pid1.Conn, e *sandbox.Egress, c sandbox.Command, setting pid1.Setting) (sandbox.Result, error) {
	gate, err := egress.Start(e)
	if err != nil {
		return notStarted(), fmt.Errorf("start the proxy of the command: %w: %w", err, sandbox.ErrStart)
	}
	setting.Serve = func(listener *os.File) error {
		err := unix.Sendmsg(gate.Child, []byte{0}, unix.UnixRights(int(listener.Fd())), nil, unix.MSG_NOSIGNAL)
		gate.CloseChild()
		if err != nil {
			return err
		}
		return gate.Ready()
	}
	c.Env = egress.Environment(c.Env)
	result, err := conn.Run(ctx, c, setting)
	if err != nil && result.Ending == sandbox.NotStarted {
		gate.Kill()
		return result, err
	}
	report, gerr := gate.Stop()
	if gerr != nil {
		result.NetworkError = fmt.Sprintf("the records of the network are not complete: %v", gerr)
		return result, err
	}
	report.Fill(&result)
	return result, err
}
