package sbx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
)

// network is what one command gets, and why, where that is not plain.
type network struct {
	sandbox.Network
	rules netrules.Policy
	why   string
}

// setting is the network in the words of flags.
func (n network) setting() string {
	if n.Network == sandbox.NetworkRules {
		return n.rules.String()
	}
	return n.Network.String()
}

// network is the setting as it was asked for, before it is read.
func (o Options) network() string {
	if o.Network == sandbox.NetworkRules {
		return sandbox.Profile{Network: o.Network, Egress: &sandbox.Egress{Rules: o.NetworkRules}}.NetworkSetting()
	}
	return o.Network.String()
}

// networkRules reads the rules of the options, once for an engine.
func (o Options) networkRules() (netrules.Policy, error) {
	for _, tag := range o.AllowTags {
		if tag != networkTag {
			return netrules.Policy{}, fmt.Errorf("allowed tag %q: only %q decides about something", tag, networkTag)
		}
	}
	switch {
	case o.Network > sandbox.NetworkRules:
		return netrules.Policy{}, fmt.Errorf("network %d: there is no such setting", o.Network)
	case o.Network == sandbox.NetworkRules:
		return netrules.ParseList(o.NetworkRules)
	case len(o.NetworkRules) > 0:
		return netrules.Policy{}, fmt.Errorf("network rules are given, and the network is %q: want sandbox.NetworkRules", o.Network)
	}
	return netrules.Policy{}, nil
}

const networkTag = "network"

// networkFor decides which network a command with these tags gets.
func (e *Engine) networkFor(tags []string) network {
	o := e.options
	n := network{Network: o.Network, rules: e.rules, why: o.NetworkWhy}
	if !o.NetworkAuto || o.Network == sandbox.NetworkNone {
		return n
	}
	listed := "the tags of the command are " + strings.Join(tags, ", ")
	if len(tags) == 0 {
		listed = "the command has no tag"
	}
	switch {
	case !slices.Contains(tags, networkTag):
		n = network{why: "auto is off: " + listed + ", not " + networkTag}
	case !slices.Contains(o.AllowTags, networkTag):
		n = network{why: "auto is off: the command has the tag " + networkTag + ", which is not allowed (--allow-tag " + networkTag + ")"}
	default:
		why := "auto is " + n.setting() + ": the command has the tag " + networkTag + ", which is allowed"
		if n.why != "" {
			why += "; " + n.why
		}
		n.why = why
	}
	return n
}

// egress is the way out for a profile with rules. Its program is looked for when
// all is known that the command can write to.
func (e *Engine) egress(p *sandbox.Profile, n network) {
	if n.Network == sandbox.NetworkRules {
		p.Egress = &sandbox.Egress{Rules: n.rules.Words(), Upstream: e.upstream()}
	}
}

// upstream is the caller's own way out, by the variables that most programs
// read; lower case wins, as it does for curl.
func (e *Engine) upstream() sandbox.Upstream {
	first := func(names ...string) string {
		for _, name := range names {
			if v := e.environ.get(name); v != "" {
				return v
			}
		}
		return ""
	}
	return sandbox.Upstream{
		HTTP:    first("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"),
		HTTPS:   first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
		NoProxy: first("no_proxy", "NO_PROXY"),
	}
}
