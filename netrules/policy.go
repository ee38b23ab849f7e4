// Package netrules is the language in which the network of a command is
// described, and the judge of each connection: "off", "on", or "allow:" and a
// list of hosts. It is pure: it looks up no name and opens no connection. Proxy,
// connect broker and resolver ask the same judge.
//
// A rule is one of
//
//	example.com       this host at ports 80 and 443
//	*.example.com     every host below it, not itself
//	192.0.2.7         an address; IPv6 with or without brackets
//	10.1.0.0/16       the addresses of a block
//	*                 every public host and address
//	HOST:8080         at this port only; [ADDRESS]:8080 for IPv6
//	HOST:*            at every port
//	git               a preset, see Presets
//
// Metadata services, the host itself and addresses that are not public are
// refused in every list, "*" too, however they are written, unless a rule names
// the address or a block of such addresses.
package netrules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Mode is how much of the network there is.
type Mode uint8

// The zero value is off: a forgotten field must not open the network.
const (
	Off   Mode = iota // nothing but the command's own loopback
	On                // the host's network as it is
	Allow             // what the rules list
)

// Policy is a network setting. The zero value is off. It does not change after
// it was made, and is safe for concurrent use.
type Policy struct {
	Mode  Mode
	words []string // of a list, as they are printed
	rules []Rule
}

const allowPrefix = "allow:"

// Parse reads "off", "on" or "allow:RULE,RULE,…". An empty list allows nothing.
func Parse(text string) (Policy, error) {
	switch text {
	case "off":
		return Policy{}, nil
	case "on":
		return Policy{Mode: On}, nil
	}
	list, ok := strings.CutPrefix(text, allowPrefix)
	if !ok {
		return Policy{}, fmt.Errorf(`network %q: want "off", "on" or "allow:HOST,…"`, text)
	}
	if strings.TrimSpace(list) == "" {
		return ParseList(nil)
	}
	return ParseList(strings.Split(list, ","))
}

// maxRules bounds a list: each connection is held against all of them.
const maxRules = 10_000

// ParseList reads the rules of an allow list. No rule: nothing is allowed.
func ParseList(words []string) (Policy, error) {
	p := Policy{Mode: Allow}
	if len(words) > maxRules {
		return Policy{}, fmt.Errorf("network: %d rules are more than %d", len(words), maxRules)
	}
	for _, word := range words {
		word = strings.TrimSpace(word)
		if set, ok := preset(word); ok {
			for _, h := range set.Hosts {
				rule, err := parseRule(h.Rule)
				if err != nil {
					return Policy{}, err
				}
				rule.preset = set.Name
				p.add(rule)
			}
			p.word(word)
			continue
		}
		rule, err := parseRule(word)
		if err != nil {
			return Policy{}, fmt.Errorf("network rule %q: %w", word, err)
		}
		p.add(rule)
		p.word(rule.String())
	}
	return p, nil
}

func (p *Policy) add(r Rule) {
	if !slices.Contains(p.rules, r) {
		p.rules = append(p.rules, r)
	}
}

func (p *Policy) word(w string) {
	if !slices.Contains(p.words, w) {
		p.words = append(p.words, w)
	}
}

// String gives the setting in the words that Parse reads.
func (p Policy) String() string {
	switch p.Mode {
	case On:
		return "on"
	case Allow:
		return allowPrefix + strings.Join(p.words, ",")
	}
	return "off"
}

// Words lists the rules of an allow list as they are printed: presets by their
// name, hosts and addresses in their canonical form.
func (p Policy) Words() []string { return slices.Clone(p.words) }

// Rules lists what the words stand for.
func (p Policy) Rules() []Rule { return slices.Clone(p.rules) }

// MarshalText is String.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is Parse.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = Parse(string(text))
	return err
}

// Narrow gives what both settings allow.
func (p Policy) Narrow(other Policy) Policy {
	switch {
	case p.Mode == Off || other.Mode == Off:
		return Policy{}
	case p.Mode == On:
		return other
	case other.Mode == On:
		return p
	}
	both := Policy{Mode: Allow}
	for _, a := range p.rules {
		for _, b := range other.rules {
			if r, ok := a.and(b); ok {
				both.add(r)
				both.word(r.String())
			}
		}
	}
	return both
}

var errEmpty = errors.New("it is empty")
