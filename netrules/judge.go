package netrules

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Target is where a connection is to go, read once: what is judged is what is
// connected to.
type Target struct {
	Name string     // canonical; empty for an address
	Addr netip.Addr // IPv4 in IPv6 is unwrapped; invalid for a name
	Port uint16
}

// ParseTarget reads "HOST:PORT" as the line of a CONNECT request has it, or
// HOST alone when port, the usual one, is not 0.
func ParseTarget(text string, port uint16) (Target, error) {
	host, rest := text, ""
	switch at := strings.LastIndexByte(text, ':'); {
	case strings.HasPrefix(text, "["):
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return Target{}, errors.New("the bracket is not closed")
		}
		host, rest = text[:end+1], text[end+1:]
		if rest != "" && rest[0] != ':' {
			return Target{}, errors.New("want :PORT after the bracket")
		}
	case at >= 0:
		host, rest = text[:at], text[at:]
	}
	if rest != "" {
		var err error
		if port, err = parsePort(rest[1:]); err != nil {
			return Target{}, err
		}
	}
	if port == 0 {
		return Target{}, errors.New("the port is missing")
	}
	if strings.HasPrefix(host, "[") {
		a, err := netip.ParseAddr(host[1 : len(host)-1])
		if err != nil || !a.Is6() {
			return Target{}, errors.New("the brackets hold no IPv6 address")
		}
		if a.Zone() != "" {
			return Target{}, errors.New("the address has a zone")
		}
		return AddrTarget(a, port), nil
	}
	return NewTarget(host, port)
}

// NewTarget reads a host without brackets: a name, or an address however it is
// written.
func NewTarget(host string, port uint16) (Target, error) {
	if port == 0 {
		return Target{}, errors.New("the port is 0")
	}
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return Target{}, errors.New("the host has a colon and is no IPv6 address")
		}
		return AddrTarget(a, port), nil
	}
	name, err := canonicalName(host)
	if err != nil {
		return Target{}, err
	}
	if looksNumeric(name) {
		a, err := parseIPv4(name)
		if err != nil {
			return Target{}, err
		}
		return AddrTarget(a, port), nil
	}
	return Target{Name: name, Port: port}, nil
}

// AddrTarget is the target of a connection to an address.
func AddrTarget(a netip.Addr, port uint16) Target {
	return Target{Addr: a.WithZone("").Unmap(), Port: port}
}

// Host is the name or the address.
func (t Target) Host() string {
	if t.Addr.IsValid() {
		return t.Addr.String()
	}
	return t.Name
}

// String is "HOST:PORT", with brackets around an IPv6 address.
func (t Target) String() string {
	if t.Addr.IsValid() {
		return netip.AddrPortFrom(t.Addr, t.Port).String()
	}
	return t.Name + ":" + strconv.Itoa(int(t.Port))
}

// Names of the rules of a refusal that are none of a list.
const (
	RuleOff       = "network off"
	RuleNotListed = "host not listed"
	RulePort      = "port not listed"
	RuleLongName  = "long name below a wildcard"
	RuleNoAddress = "no address"
	RuleThisHost  = "this host"
)

// Decision is the answer to one question. The zero value refuses.
type Decision struct {
	Allowed bool
	Target  Target
	// Addrs are the addresses that may be connected to, and no others: for a
	// name a part of those that were judged. Empty before a name was looked up.
	Addrs []netip.Addr
	Rule  string // the rule that decided: of the list as it is written, or one of this package
	Why   string // of a refusal, a clause: "it is the host's loopback"
	Allow string // what would let it through, as an option; empty: nothing
}

// String is one sentence for people: what was refused and why.
func (d Decision) String() string {
	if d.Allowed {
		return d.Target.String() + " is allowed by rule " + d.Rule
	}
	text := d.Target.String() + " is refused: " + d.Reason()
	if d.Allow != "" {
		text += "; " + d.Allow + " would allow it"
	}
	return text
}

// Reason is the rule of a refusal, with what it does not say by itself.
func (d Decision) Reason() string {
	if d.Rule == RuleNotListed || d.Why == "it is a "+d.Rule {
		return d.Rule
	}
	return d.Rule + " (" + d.Why + ")"
}

// Judge decides about a target before anything is looked up: a name that is not
// listed must not reach a name server. An address is decided for good; a name
// that is allowed here is judged again with its addresses, see JudgeAddrs.
// here are the addresses of this host's interfaces.
func (p Policy) Judge(t Target, here []netip.Addr) Decision {
	d := Decision{Target: t}
	switch {
	case p.Mode == On:
		d.Allowed, d.Rule = true, "on"
		if t.Addr.IsValid() {
			d.Addrs = []netip.Addr{t.Addr}
		}
		return d
	case p.Mode != Allow:
		return d.refuse(RuleOff, "the command has no network", listing(t))
	case t.Addr.IsValid():
		return p.judgeAddr(d, t.Addr, here)
	}
	var port bool
	for _, r := range p.rules {
		if !r.matchesName(t.Name) {
			continue
		}
		if !r.ports.has(t.Port) {
			port = true
			continue
		}
		if r.below && len(t.Name)-len(r.host) > maxWild {
			return d.refuse(RuleLongName, fmt.Sprintf("%q stands for at most %d characters", r.String(), maxWild), listing(t))
		}
		d.Allowed, d.Rule = true, r.label()
		return d
	}
	if port {
		return d.refuse(RulePort, fmt.Sprintf("the host is listed at other ports than %d", t.Port), listing(t))
	}
	return d.refuse(RuleNotListed, "no rule of the list names it", listing(t))
}

// JudgeAddrs decides about a name and the addresses that it was resolved to.
// The connection must go to one of Decision.Addrs, without another look-up.
func (p Policy) JudgeAddrs(t Target, addrs, here []netip.Addr) Decision {
	d := p.Judge(t, here)
	if !d.Allowed || t.Addr.IsValid() {
		return d
	}
	if p.Mode == On {
		d.Addrs = slices.Clone(addrs)
		return d
	}
	refused := Decision{Target: t}.refuse(RuleNoAddress, "the name has no address", "")
	for _, a := range addrs {
		one := p.special(Decision{Target: t}, a, here)
		switch {
		case one.Rule == "":
			d.Addrs = append(d.Addrs, a.WithZone("").Unmap())
		case refused.Rule == RuleNoAddress: // the first one is told
			one.Why = "it resolves to " + a.String() + ", and that is " + strings.TrimPrefix(one.Why, "it is ")
			refused = one
		}
	}
	if len(d.Addrs) == 0 {
		return refused
	}
	return d
}

// judgeAddr decides about a connection to an address.
func (p Policy) judgeAddr(d Decision, a netip.Addr, here []netip.Addr) Decision {
	if no := p.special(d, a, here); no.Rule != "" {
		return no
	}
	var port bool
	for _, r := range p.rules {
		if !r.lists(a) && !r.any() {
			continue
		}
		if r.ports.has(d.Target.Port) {
			d.Allowed, d.Rule, d.Addrs = true, r.label(), []netip.Addr{a}
			return d
		}
		port = true
	}
	if port {
		return d.refuse(RulePort, fmt.Sprintf("the address is listed at other ports than %d", d.Target.Port), listing(d.Target))
	}
	return d.refuse(RuleNotListed, "no rule of the list names it", listing(d.Target))
}

// special refuses an address that is not public, unless a rule names it or a
// block of addresses of its class. The answer has no rule when nothing is wrong.
func (p Policy) special(d Decision, a netip.Addr, here []netip.Addr) Decision {
	for _, form := range forms(a) {
		c := classOf(form)
		mine := isHere(here, form)
		if c == nil && !mine || p.names(form, c, mine, d.Target.Port) {
			continue
		}
		wanted := Target{Addr: form, Port: d.Target.Port}
		if mine && (c == nil || c.name == "private") {
			return d.refuse(RuleThisHost, "it is an address of this host", listing(wanted))
		}
		return d.refuse(c.name+" address", "it is "+c.what, listing(wanted))
	}
	return d
}

func isHere(here []netip.Addr, a netip.Addr) bool {
	return slices.ContainsFunc(here, func(own netip.Addr) bool { return own.WithZone("").Unmap() == a })
}

// names reports whether a rule is about this address in particular: the address
// itself, or a block that lies in its class whole. A block does not name the
// host's own address in it.
func (p Policy) names(a netip.Addr, c *class, mine bool, port uint16) bool {
	for _, r := range p.rules {
		if !r.lists(a) || !r.ports.has(port) {
			continue
		}
		if r.prefix.IsSingleIP() || !mine && c != nil && within(r.prefix) == c {
			return true
		}
	}
	return false
}

func (d Decision) refuse(rule, why, allow string) Decision {
	d.Allowed, d.Addrs = false, nil
	d.Rule, d.Why, d.Allow = rule, why, allow
	return d
}

// label is the rule as a person finds it again.
func (r Rule) label() string {
	if r.preset != "" {
		return r.preset + " (" + r.String() + ")"
	}
	return r.String()
}

// listing is the option that would list a target.
func listing(t Target) string {
	word := t.Host()
	if t.Port != 80 && t.Port != 443 {
		word = t.String()
	}
	return "--network " + allowPrefix + word
}

// Lists reports whether a rule speaks of a name at any port, so that it may be
// given an address.
func (p Policy) Lists(name string) bool {
	return p.Mode == Allow && slices.ContainsFunc(p.rules, func(r Rule) bool {
		return r.matchesName(name) && (!r.below || len(name)-len(r.host) <= maxWild)
	})
}

// Names reports whether a rule lists a target by its full name, not below a
// wildcard: the command cannot have made the name up.
func (p Policy) Names(t Target) bool {
	return slices.ContainsFunc(p.rules, func(r Rule) bool { return !r.below && r.matchesName(t.Name) && r.ports.has(t.Port) })
}
