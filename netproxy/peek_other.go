//go:build !unix

package netproxy

import (
	"errors"
	"net"
)

func peek(net.Conn) (byte, error) { return 0, errors.ErrUnsupported }
