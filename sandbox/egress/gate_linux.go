//go:build amd64 || arm64

package egress

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// Start starts the proxy. The calling thread may end before the proxy does.
func Start(e *sandbox.Egress) (*Gate, error) {
	if e == nil || e.Proxy == "" {
		return nil, errNoProxy
	}
	control, listen, err := socketPairs()
	if err != nil {
		return nil, err
	}
	defer unix.Close(control[1])
	defer unix.Close(listen[1])
	pid, err := startProxy(e.Proxy, environment(os.Environ()), control[1], listen[1])
	if err != nil {
		_ = unix.Close(control[0])
		_ = unix.Close(listen[0])
		return nil, fmt.Errorf("start %q: %w", e.Proxy, err)
	}
	return newGate(e, pid, control[0], listen[0])
}

// socketPairs makes the two connections; the second end of each is the proxy's.
func socketPairs() (control, listen [2]int, err error) {
	if control, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return control, listen, fmt.Errorf("make socket: %w", err)
	}
	if listen, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		_ = unix.Close(control[0])
		_ = unix.Close(control[1])
		return control, listen, fmt.Errorf("make socket: %w", err)
	}
	return control, listen, nil
}
