package netrules

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"sync"
)

// class is a block of addresses that a list does not open by naming hosts.
type class struct {
	block  string // CIDR
	name   string // the rule in a refusal
	what   string // for people, behind "it is"
	prefix netip.Prefix
}

// classes are tried in this order. Sources: the special-purpose registries of
// IANA (IPv4 and IPv6), and the documents of the cloud providers for metadata.
var classes = [...]class{
	{block: "169.254.169.254/32", name: "metadata", what: "a metadata service (AWS, Azure, Google and others)"},
	{block: "169.254.169.253/32", name: "metadata", what: "the name server of an AWS network"},
	{block: "169.254.169.123/32", name: "metadata", what: "the time server of an AWS network"},
	{block: "169.254.170.2/32", name: "metadata", what: "the credentials service of AWS ECS"},
	{block: "169.254.170.23/32", name: "metadata", what: "the credentials service of AWS EKS"},
	{block: "168.63.129.16/32", name: "metadata", what: "the platform service of Azure"},
	{block: "100.100.100.200/32", name: "metadata", what: "the metadata service of Alibaba"},
	{block: "192.0.0.192/32", name: "metadata", what: "the metadata service of Oracle"},
	{block: "fd00:ec2::/32", name: "metadata", what: "a metadata service of AWS"},
	{block: "fd20:ce::254/128", name: "metadata", what: "the metadata service of Google"},
	{block: "fd00:42::42/128", name: "metadata", what: "the metadata service of Scaleway"},
	{block: "fe80::a9fe:a9fe/128", name: "metadata", what: "a metadata service (OpenStack)"},

	{block: "127.0.0.0/8", name: "loopback", what: "the host's loopback"},
	{block: "::1/128", name: "loopback", what: "the host's loopback"},
	{block: "0.0.0.0/8", name: "loopback", what: "this host"},
	{block: "::/128", name: "loopback", what: "this host"},

	{block: "10.0.0.0/8", name: "private", what: "a private address"},
	{block: "172.16.0.0/12", name: "private", what: "a private address"},
	{block: "192.168.0.0/16", name: "private", what: "a private address"},
	{block: "100.64.0.0/10", name: "private", what: "an address shared by a provider's customers"},
	{block: "169.254.0.0/16", name: "private", what: "a link-local address"},
	{block: "fe80::/10", name: "private", what: "a link-local address"},
	{block: "fec0::/10", name: "private", what: "a site-local address"},
	{block: "fc00::/7", name: "private", what: "a private address"},
	{block: "64:ff9b:1::/48", name: "private", what: "an address of a local translator to IPv4"},

	{block: "192.0.0.0/24", name: "special", what: "a special address"},
	{block: "192.0.2.0/24", name: "special", what: "an address for documents"},
	{block: "198.51.100.0/24", name: "special", what: "an address for documents"},
	{block: "203.0.113.0/24", name: "special", what: "an address for documents"},
	{block: "192.88.99.0/24", name: "special", what: "an address of 6to4 relays"},
	{block: "198.18.0.0/15", name: "special", what: "an address for measurements"},
	{block: "224.0.0.0/4", name: "special", what: "a multicast address"},
	{block: "240.0.0.0/4", name: "special", what: "a reserved address"},
	{block: "2001::/32", name: "special", what: "an address of a Teredo tunnel"},
	{block: "2001::/23", name: "special", what: "a special address"},
	{block: "2001:db8::/32", name: "special", what: "an address for documents"},
	{block: "3fff::/20", name: "special", what: "an address for documents"},
	{block: "5f00::/16", name: "special", what: "a segment routing address"},
	{block: "100::/64", name: "special", what: "an address that discards"},
	{block: "ff00::/8", name: "special", what: "a multicast address"},
}

var classTable = sync.OnceValue(func() []class {
	list := classes
	for i := range list {
		list[i].prefix = netip.MustParsePrefix(list[i].block)
	}
	return list[:]
})

// classOf finds what an address is; nil when it is public.
func classOf(a netip.Addr) *class {
	table := classTable()
	for i := range table {
		if table[i].prefix.Contains(a) {
			return &table[i]
		}
	}
	return nil
}

// within finds the class that holds a whole block; nil when there is none. A
// block that is larger than one class does not name the addresses in it.
func within(p netip.Prefix) *class {
	table := classTable()
	for i := range table {
		if c := table[i].prefix; c.Bits() <= p.Bits() && c.Contains(p.Addr()) {
			return &table[i]
		}
	}
	return nil
}

// forms gives an address and the IPv4 addresses that are written into it, to
// which a translator or tunnel would carry the connection.
func forms(a netip.Addr) []netip.Addr {
	a = a.WithZone("").Unmap()
	list := []netip.Addr{a}
	if !a.Is6() {
		return list
	}
	b := a.As16()
	v4 := func(at int) { list = append(list, netip.AddrFrom4([4]byte(b[at:at+4]))) }
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	switch {
	case hi == 0x0064ff9b_00000000 && lo>>32 == 0: // NAT64, RFC 6052
		v4(12)
	case hi>>48 == 0x2002: // 6to4, RFC 3056
		v4(2)
	case hi == 0 && lo>>32 == 0 && lo > 1: // IPv4-compatible, RFC 4291
		v4(12)
	case hi == 0 && lo>>32 == 0xffff_0000: // IPv4-translated, RFC 2765
		v4(12)
	case lo>>32&^0x02000000 == 0x5efe: // ISATAP, RFC 5214
		v4(12)
	}
	return list
}

// looksNumeric reports whether the last part of a host is a number, which makes
// it an address for inet_aton(3) and for browsers.
func looksNumeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return false
	}
	set := "0123456789"
	if len(last) > 1 && last[0] == '0' && last[1]|0x20 == 'x' {
		last, set = last[2:], "0123456789abcdefABCDEF"
	}
	return strings.Trim(last, set) == ""
}

// parseIPv4 reads what inet_aton(3) reads: one to four parts, each decimal,
// octal or hexadecimal, the last one filling what is left.
func parseIPv4(host string) (netip.Addr, error) {
	bad := errors.New("the host ends in a number and is no IPv4 address")
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, bad
	}
	var sum uint64
	for i, part := range parts {
		n, ok := number(part)
		if !ok {
			return netip.Addr{}, bad
		}
		room := uint(8)
		if i == len(parts)-1 {
			room = uint(8 * (5 - len(parts)))
		}
		if n>>room != 0 {
			return netip.Addr{}, bad
		}
		sum = sum<<room | n
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(sum)))), nil
}

// number reads 10, 012 and 0xa; more than 32 bits are none.
func number(s string) (uint64, bool) {
	base := uint64(10)
	switch {
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
		s, base = s[2:], 16
		if s == "" { // "0x" is 0 for some readers
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		base = 8
	}
	if s == "" {
		return 0, false
	}
	var n uint64
	for i := range len(s) {
		d := uint64(255)
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			d = uint64(c - '0')
		case 'a' <= c && c <= 'f':
			d = uint64(c-'a') + 10
		case 'A' <= c && c <= 'F':
			d = uint64(c-'A') + 10
		}
		if d >= base {
			return 0, false
		}
		if n = n*base + d; n>>32 != 0 {
			return 0, false
		}
	}
	return n, true
}
