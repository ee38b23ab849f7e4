package netrules

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Rule is one entry of an allow list. Rules can be compared with ==.
type Rule struct {
	host   string // a name in canonical form; "" for an address and for "*"
	below  bool   // what is below host, not host itself; with an empty host "*"
	prefix netip.Prefix
	ports  portRange
	preset string
}

// portRange is both ends included. web stands for 80 and 443.
type portRange struct {
	low, high uint16
	web       bool
}

func (r portRange) has(port uint16) bool {
	if r.web {
		return port == 80 || port == 443
	}
	return r.low <= port && port <= r.high
}

// and is what both hold; false when that is nothing.
func (r portRange) and(o portRange) (portRange, bool) {
	switch {
	case r.web && o.web:
		return r, true
	case o.web:
		return o.and(r)
	case r.web:
		low, high := o.has(80), o.has(443)
		switch {
		case low && high:
			return r, true
		case low:
			return portRange{low: 80, high: 80}, true
		case high:
			return portRange{low: 443, high: 443}, true
		}
		return portRange{}, false
	}
	both := portRange{low: max(r.low, o.low), high: min(r.high, o.high)}
	return both, both.low <= both.high
}

func (r portRange) String() string {
	switch {
	case r.web:
		return ""
	case r.low == 1 && r.high == 65535:
		return ":*"
	case r.low == r.high:
		return ":" + strconv.Itoa(int(r.low))
	}
	return fmt.Sprintf(":%d-%d", r.low, r.high)
}

// String gives the rule as it can be written in a list.
func (r Rule) String() string {
	port := r.ports.String()
	switch {
	case r.prefix.IsValid():
		text := r.prefix.String()
		if r.prefix.IsSingleIP() {
			text = r.prefix.Addr().String()
		}
		if port != "" && r.prefix.Addr().Is6() {
			text = "[" + text + "]"
		}
		return text + port
	case r.below && r.host == "":
		return "*" + port
	case r.below:
		return "*." + r.host + port
	}
	return r.host + port
}

// Preset is the name of the preset that the rule came from; may be empty.
func (r Rule) Preset() string { return r.preset }

func parseRule(word string) (Rule, error) {
	switch {
	case word == "":
		return Rule{}, errEmpty
	case strings.Contains(word, "://"), strings.ContainsAny(word, "@?#"):
		return Rule{}, errors.New("it is a URL; want a host, HOST:PORT or an address")
	}
	host, ports, err := cutPorts(word)
	if err != nil {
		return Rule{}, err
	}
	r := Rule{ports: ports}
	if strings.ContainsAny(host, "/") || looksNumeric(host) || strings.Contains(host, ":") {
		r.prefix, err = parsePrefix(host)
		return r, err
	}
	if host == "*" {
		r.below = true
		return r, nil
	}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		r.below, host = true, rest
	}
	if strings.Contains(host, "*") {
		return Rule{}, errors.New(`"*" stands alone or for the first part: *.example.com`)
	}
	if r.host, err = toASCII(host); err != nil {
		return Rule{}, err
	}
	if r.host, err = canonicalName(r.host); err != nil {
		return Rule{}, err
	}
	if looksNumeric(r.host) {
		return Rule{}, errors.New("its last part is a number, as only addresses have it")
	}
	return r, nil
}

// cutPorts takes the ports off the end of a rule.
func cutPorts(word string) (host string, ports portRange, err error) {
	web := portRange{web: true}
	if strings.HasPrefix(word, "[") {
		end := strings.IndexByte(word, ']')
		if end < 0 {
			return "", web, errors.New("the bracket is not closed")
		}
		host, rest := word[1:end], word[end+1:]
		if !strings.Contains(host, ":") {
			return "", web, errors.New("brackets are for IPv6 addresses")
		}
		if rest == "" {
			return host, web, nil
		}
		if rest[0] != ':' {
			return "", web, fmt.Errorf("want :PORT after the bracket, have %q", rest)
		}
		ports, err = parsePorts(rest[1:])
		return host, ports, err
	}
	if strings.Count(word, ":") != 1 { // none, or an IPv6 address
		return word, web, nil
	}
	host, port, _ := strings.Cut(word, ":")
	if host == "" {
		return "", web, errors.New("the host is missing")
	}
	ports, err = parsePorts(port)
	return host, ports, err
}

func parsePorts(text string) (portRange, error) {
	if text == "*" {
		return portRange{low: 1, high: 65535}, nil
	}
	first, last, ranged := strings.Cut(text, "-")
	low, err := parsePort(first)
	if err != nil {
		return portRange{}, err
	}
	high := low
	if ranged {
		if high, err = parsePort(last); err != nil {
			return portRange{}, err
		}
	}
	if low > high {
		return portRange{}, fmt.Errorf("ports %q: the first is larger", text)
	}
	return portRange{low: low, high: high}, nil
}

// parsePort reads decimal digits and nothing else: readers disagree about
// signs, blanks and numbers too large.
func parsePort(text string) (uint16, error) {
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' || n > 65535 {
			n = -1
			break
		}
		n = 10*n + int(c-'0')
	}
	if text == "" || n < 1 || n > 65535 {
		return 0, fmt.Errorf("port %q: want a number from 1 to 65535", text)
	}
	return uint16(n), nil
}

// parsePrefix reads an address or a block. In a rule numbers are written as
// everybody reads them: four decimal parts, no leading zero.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, errors.New("want an address like 192.0.2.7 or 2001:db8::1")
		}
		if a.Zone() != "" {
			return netip.Prefix{}, errors.New("an address with a zone cannot be listed")
		}
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errors.New("want a block of addresses like 10.1.0.0/16")
	}
	if p.Addr().Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, errors.New("write a block of IPv4 addresses as such")
		}
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("the block begins at %s: write %s", p.Masked().Addr(), p.Masked())
	}
	return p, nil
}

// matchesName reports whether the rule speaks of a name, whatever the port.
func (r Rule) matchesName(name string) bool {
	switch {
	case r.prefix.IsValid():
		return false
	case !r.below:
		return name == r.host
	case r.host == "":
		return true
	}
	return len(name) > len(r.host)+1 && strings.HasSuffix(name, r.host) && name[len(name)-len(r.host)-1] == '.'
}

// lists reports whether the rule names an address, whatever the port.
func (r Rule) lists(a netip.Addr) bool { return r.prefix.IsValid() && r.prefix.Contains(a) }

// any reports whether the rule is "*".
func (r Rule) any() bool { return r.below && r.host == "" }

// and is what both rules allow; false when that is nothing.
func (r Rule) and(o Rule) (Rule, bool) {
	ports, ok := r.ports.and(o.ports)
	if !ok {
		return Rule{}, false
	}
	narrow, wide := r, o
	switch {
	case r.prefix.IsValid() && o.prefix.IsValid():
		if !r.prefix.Overlaps(o.prefix) {
			return Rule{}, false
		}
		if o.prefix.Bits() > r.prefix.Bits() {
			narrow = o
		}
	case o.any():
	case r.any():
		narrow, wide = o, r
	case r.prefix.IsValid() || o.prefix.IsValid():
		return Rule{}, false
	case o.covers(r):
	case r.covers(o):
		narrow, wide = o, r
	default:
		return Rule{}, false
	}
	// "*" does not speak of addresses that are not public: a block of those
	// is in one list only.
	if wide.any() && narrow.prefix.IsValid() && within(narrow.prefix) != nil {
		return Rule{}, false
	}
	narrow.ports, narrow.preset = ports, ""
	return narrow, true
}

// covers reports whether every name of o is one of r.
func (r Rule) covers(o Rule) bool {
	if !o.below {
		return r.matchesName(o.host)
	}
	return r.below && (r.host == o.host || r.matchesName(o.host))
}
