//go:build !linux

package netproxy

import (
	"net"
	"sync/atomic"
)

func splice(net.Conn, net.Conn, *atomic.Int64) (bool, error) { return false, nil }

func keepNear(net.Conn) {}
