// Package egress starts sbx-proxy for one run and gathers what it tells. The
// proxy is a program of its own because an HTTP library would cost every start
// of sbx; it runs outside the sandbox, as the caller, and ends with the run.
//
// Its two arguments are descriptors of unix sockets. Over the first one, a
// stream, it reads a Setup and writes Messages, each as one line of JSON. The end
// of that stream is the end of the run: it closes all connections, writes its
// last message and exits. From the second it receives the listener that was made
// inside the sandbox.
package egress

import (
	"errors"

	"github.com/sbx-run/sbx/sandbox"
)

// Setup is what sbx-proxy gets to know. It comes over a socket, not by argument
// or environment, where others of the same user could read a password in it.
type Setup struct {
	Rules    []string         `json:"rules"`
	Upstream sandbox.Upstream `json:"upstream"`
}

// Message is what sbx-proxy says: that it serves, and at the end what went
// through.
type Message struct {
	Ready  bool    `json:"ready,omitempty"`
	Error  string  `json:"error,omitempty"` // it cannot serve; the last message
	Report *Report `json:"report,omitempty"`
	// NoListener says that the sandbox ended before it had a listener.
	NoListener bool `json:"no_listener,omitempty"`
}

// Report is what went through the proxy and what it refused.
type Report struct {
	Hosts         []sandbox.HostUse `json:"hosts,omitempty"`
	HostsBeyond   int64             `json:"hosts_beyond,omitempty"`
	Denials       []sandbox.Denial  `json:"denials,omitempty"`
	DenialsBeyond int               `json:"denials_beyond,omitempty"`
}

// Fill adds the report to a result.
func (r Report) Fill(to *sandbox.Result) {
	to.Hosts, to.HostsBeyond = r.Hosts, r.HostsBeyond
	to.Denials = append(to.Denials, r.Denials...)
	to.DenialsBeyond += r.DenialsBeyond
}

// LaterCommand is a command of our own in the SOCKS protocol. It asks for a
// connection as the command CONNECT does. After the proxy has said that it stands, the
// client sends the two bytes of a port and ends. The proxy then connects this
// end anew, from sandbox.WaitAddress to that port of 127.0.0.1: a socket there that
// is connecting to sandbox.WaitAddress is connected by that (simultaneous open,
// RFC 9293, 3.5), and to the host.
const LaterCommand = 0xf1

// ErrNoListener is the answer of a proxy whose sandbox ended before it had made
// the listener: what went wrong is for the sandbox to say.
var ErrNoListener = errors.New("the sandbox made no listener")
