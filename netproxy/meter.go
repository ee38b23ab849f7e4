package netproxy

import (
	"cmp"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
)

// maxHosts bounds the hosts of one report: a command may visit any number.
const maxHosts = 1000

// meter counts per host and port. The zero value is ready.
type meter struct {
	mu     sync.Mutex
	hosts  map[netrules.Target]*tally
	beyond tally
}

type tally struct{ connections, out, in atomic.Int64 }

// of finds the tally of a target.
func (m *meter) of(t netrules.Target) *tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have := m.hosts[t]; have != nil {
		return have
	}
	if len(m.hosts) == maxHosts {
		return &m.beyond
	}
	if m.hosts == nil {
		m.hosts = map[netrules.Target]*tally{}
	}
	have := new(tally)
	m.hosts[t] = have
	return have
}

// list gives the hosts, those with the most bytes first, and the number of
// connections to hosts that are not listed.
func (m *meter) list() ([]sandbox.HostUse, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []sandbox.HostUse
	for t, n := range m.hosts {
		list = append(list, sandbox.HostUse{
			Host: t.Host(), Port: t.Port, Connections: n.connections.Load(), BytesOut: n.out.Load(), BytesIn: n.in.Load(),
		})
	}
	slices.SortFunc(list, func(a, b sandbox.HostUse) int {
		return cmp.Or(cmp.Compare(b.BytesIn+b.BytesOut, a.BytesIn+a.BytesOut), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return list, m.beyond.connections.Load()
}

// counted is a connection to a host whose bytes are counted.
type counted struct {
	net.Conn
	tally *tally
	done  func()
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.tally.in.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.tally.out.Add(int64(n))
	return n, err
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.done()
	return err
}
