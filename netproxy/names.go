package netproxy

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	keepAnswer  = 60 * time.Second
	keepNothing = 5 * time.Second
	maxAnswers  = 4096
	lookupTime  = 15 * time.Second

	// lookupBurst and lookupEvery bound questions to the name server about names
	// that only a wildcard lists: each may carry data out. A build asks for a
	// few names, all at once.
	lookupBurst = 200
	lookupEvery = 500 * time.Millisecond
)

// errFlood refuses a look-up.
var errFlood = errors.New("too many names were asked for")

// names looks up names, remembers the answers for a while, and asks only once
// for a name that several connections wait for.
type names struct {
	resolver Resolver
	now      func() time.Time

	mu      sync.Mutex
	answers map[string]*answer
	tokens  float64
	filled  time.Time
}

type answer struct {
	ready chan struct{}
	until time.Time
	addrs []netip.Addr
	err   error
}

func newNames(r Resolver) *names {
	return &names{resolver: r, now: time.Now, answers: map[string]*answer{}, tokens: lookupBurst}
}

// lookup gives the addresses of a name. limited says that the name may have
// been made up by the command.
func (n *names) lookup(ctx context.Context, name string, limited bool) ([]netip.Addr, error) {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761: no name server is asked
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	n.mu.Lock()
	a, known := n.answers[name]
	if known && n.fresh(a) {
		n.mu.Unlock()
		select {
		case <-a.ready:
			return a.addrs, a.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if limited && !n.take() {
		n.mu.Unlock()
		return nil, errFlood
	}
	if len(n.answers) >= maxAnswers {
		n.drop()
	}
	a = &answer{ready: make(chan struct{})}
	n.answers[name] = a
	n.mu.Unlock()

	// The one who asks may leave; others wait for the same answer.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	absolute := name
	if strings.Contains(name, ".") {
		absolute += "." // no search domain is tried
	}
	addrs, err := n.resolver.LookupNetIP(asking, "ip", absolute)
	keep := keepAnswer
	if err != nil {
		keep = keepNothing
	}
	n.mu.Lock()
	a.addrs, a.err, a.until = addrs, err, n.now().Add(keep)
	n.mu.Unlock()
	close(a.ready)
	return addrs, err
}

// fresh reports whether an answer is still on its way or holds.
func (n *names) fresh(a *answer) bool { return a.until.IsZero() || n.now().Before(a.until) }

// take uses up one look-up; false when there is none left for now.
func (n *names) take() bool {
	now := n.now()
	if !n.filled.IsZero() {
		n.tokens = min(lookupBurst, n.tokens+float64(now.Sub(n.filled))/float64(lookupEvery))
	}
	n.filled = now
	if n.tokens < 1 {
		return false
	}
	n.tokens--
	return true
}

// drop makes room: what does not hold any more, or else anything that is answered.
func (n *names) drop() {
	for name, a := range n.answers {
		if !n.fresh(a) {
			delete(n.answers, name)
		}
	}
	for name, a := range n.answers {
		if len(n.answers) < maxAnswers {
			return
		}
		if !a.until.IsZero() {
			delete(n.answers, name)
		}
	}
}
