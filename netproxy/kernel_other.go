//go:build !linux

package netproxy

import (
	"errors"
	"net"
	"sync/atomic"
)

func splice(net.Conn, net.Conn, *atomic.Int64) (bool, error) { return false, nil }

func keepNear(net.Conn) {}

func rejoin(net.Conn) (net.Conn, error) { return nil, errors.ErrUnsupported }
