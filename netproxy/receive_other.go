//go:build unix && !linux

package netproxy

import (
	"errors"
	"os"
)

// hideMemory: a debugger of another program needs the user's consent here.
func hideMemory() {}

// receiveSocket: there are no sandboxes with a network of their own here.
func receiveSocket[T any](*os.File, func(*os.File) (T, error)) (socket T, err error) {
	return socket, errors.ErrUnsupported
}
