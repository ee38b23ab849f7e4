package sandbox

import "strings"

// NetworkRules: only what Profile.Egress lists. A backend that cannot hold a
// command to a list names the gap RulesHeld, which refuses unless it is accepted;
// the command has the host's network then.
const NetworkRules Network = 2

// RulesHeld: with NetworkRules the command reaches nothing that is not listed.
// It is required whenever there are rules.
const RulesHeld Control = "network-rules"

// Egress is the way out of a command with NetworkRules. All connections go
// through the program sbx-proxy, outside, which judges each.
type Egress struct {
	// Rules are those of package netrules. None: nothing is allowed.
	Rules []string `json:"rules"`
	Proxy string   `json:"proxy"` // absolute path of sbx-proxy
	// Upstream is how sbx-proxy itself goes out. It can hold credentials, so it
	// is never printed, never given to the command, and no part of what tells
	// profiles apart: an engine has one.
	Upstream Upstream `json:"-"`
}

// Upstream holds the caller's own proxies as the environment names them: URLs,
// and the hosts that are reached without. Empty: none.
type Upstream struct{ HTTP, HTTPS, NoProxy string }

// ProxyAddress is where a command finds its proxy: on its own loopback, which
// nobody else reaches. The port lies above those that Linux gives away by itself.
const ProxyAddress = "127.0.0.1:61280"

// WaitAddress is where sockets of the command that do not block are connecting
// to until the host has answered. Nobody answers there.
const WaitAddress = "127.0.0.1:61281"

// HostUse is what went to and from one host at one port.
type HostUse struct {
	Host        string `json:"host"` // name as it was asked for, or address
	Port        uint16 `json:"port"`
	Connections int64  `json:"connections"` // that were made
	BytesOut    int64  `json:"bytes_out"`   // from the command
	BytesIn     int64  `json:"bytes_in"`    // to the command
}

// NetworkSetting is the network in the words of flags and records.
func (p Profile) NetworkSetting() string {
	if p.Network == NetworkRules && p.Egress != nil {
		return "allow:" + strings.Join(p.Egress.Rules, ",")
	}
	return p.Network.String()
}
