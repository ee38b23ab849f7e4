package netproxy

import (
	"net/netip"
	"sync"

	"github.com/sbx-run/sbx/netrules"
)

// maxFakes bounds the names of one run that get an address.
const maxFakes = 1 << 14

// fakes are the addresses that the resolver hands out. Each stands for one name
// until the end of the run, so that a connection to it is judged as one to the
// name: the name is looked up then, here, and no answer of a name server ever
// reaches the command. They are of the block for benchmarks (RFC 2544), which
// nobody routes.
type fakes struct {
	mu      sync.Mutex
	byName  map[string]netip.Addr
	ordered []string
}

// address gives a name its address; false when there are too many.
func (f *fakes) address(name string) (netip.Addr, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a, ok := f.byName[name]; ok {
		return a, true
	}
	if len(f.ordered) == maxFakes {
		return netip.Addr{}, false
	}
	f.ordered = append(f.ordered, name)
	n := len(f.ordered) // the first address of the block is left out
	a := netip.AddrFrom4([4]byte{198, 18, byte(n >> 8), byte(n)})
	if f.byName == nil {
		f.byName = map[string]netip.Addr{}
	}
	f.byName[name] = a
	return a, true
}

// target puts the name in place of its address.
func (f *fakes) target(t netrules.Target) netrules.Target {
	if !t.Addr.Is4() {
		return t
	}
	b := t.Addr.As4()
	if b[0] != 198 || b[1] != 18 {
		return t
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := int(b[2])<<8 | int(b[3]); n >= 1 && n <= len(f.ordered) {
		return netrules.Target{Name: f.ordered[n-1], Port: t.Port}
	}
	return t
}
