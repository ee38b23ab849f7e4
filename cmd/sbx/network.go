package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/words"
)

const networkHelp = `sbx network: what a command may reach.

  sbx network presets                 the lists that have a name
  sbx network presets npm             one of them, with the reason for each host
  sbx network presets --json

  sbx exec --network off -- CMD       nothing but its own localhost (the default)
  sbx exec --network on -- CMD        the host's network as it is
  sbx exec --network allow:npm,git,api.example.com,*.example.org:8443 -- CMD
  sbx exec --network auto --allow-tag network -- CMD
                                      on for commands that have the tag network

A rule is HOST, *.HOST (what is below it), an address, a block like 10.1.0.0/16,
"*" for all that is public, or a preset. Without a port it means 80 and 443; HOST:22
is one port, HOST:* every port. Metadata services, this host and private addresses are
refused in every list unless a rule names the address or a block of such addresses.
docs/network.md has more.

  --json            print a list of objects
`

// networkCommand is sbx network.
func networkCommand(s *streams, args []string) int {
	f := newFlags("network")
	asJSON := f.Bool("json", false, "")
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		s.help(networkHelp)
		return exitOK
	}
	words := append(f.operands, f.after...)
	if err == nil {
		err = printPresets(s.out, words, *asJSON)
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	return exitOK
}

func presetNames() []string {
	var names []string
	for _, p := range netrules.Presets() {
		names = append(names, p.Name)
	}
	return names
}

func printPresets(out io.Writer, operands []string, asJSON bool) error {
	if len(operands) == 0 || operands[0] != "presets" {
		return unknownAction("network", append(operands, "")[0], "sbx network presets")
	}
	list := netrules.Presets()
	names := presetNames()
	for _, name := range operands[1:] {
		if !slices.Contains(names, name) {
			return usage("no preset "+quote(name), meant(name, names, "sbx network presets ", "the presets are: "+strings.Join(names, ", ")))
		}
	}
	if len(operands) > 1 {
		list = slices.DeleteFunc(slices.Clone(list), func(p netrules.Preset) bool { return !slices.Contains(operands[1:], p.Name) })
	}
	if asJSON {
		return writeJSON(out, list)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, p := range list {
		if len(operands) == 1 {
			var hosts []string
			for _, h := range p.Hosts {
				hosts = append(hosts, h.Rule)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.For, strings.Join(hosts, " "))
			continue
		}
		for _, h := range p.Hosts {
			fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, h.Rule, h.Why)
		}
	}
	return w.Flush()
}

// networkWord is --network.
type networkWord string

func (n *networkWord) String() string { return string(*n) }

func (n *networkWord) Set(v string) error {
	if v != "auto" {
		if _, err := netrules.Parse(v); err != nil {
			return &hintedError{msg: strings.TrimPrefix(err.Error(), "network "+quote(v)+": "), hint: networkHint(v)}
		}
	}
	*n = networkWord(v)
	return nil
}

// networkHint says what was probably meant by a word that is no network setting:
// the name of a preset stands behind allow:.
func networkHint(v string) string {
	names := presetNames()
	if slices.Contains(names, v) {
		return "did you mean allow:" + v + "?"
	}
	if word, ok := map[string]string{"none": "off", "bridge": "on", "host": "on"}[v]; ok { // words of PEPE_SANDBOX_NET and of engines
		return "did you mean " + word + "?"
	}
	hint := meant(v, names, "allow:", "sbx network --help has examples")
	return meant(v, []string{"off", "on", "auto", "allow:"}, "", hint)
}

// presetHint is about the hosts of a list that look like a preset with a slip: a
// name without a dot is a host of the local network, and seldom meant.
func presetHint(setting string) string {
	policy, err := netrules.Parse(setting)
	if err != nil || policy.Mode != netrules.Allow {
		return ""
	}
	for _, word := range policy.Words() {
		if near := words.Nearest(word, presetNames()); near != "" && near != word && !strings.ContainsAny(word, ".:") {
			return "the network list has a host " + quote(word) + ": did you mean the preset " + near + "? (a host is written " + word + ":443)"
		}
	}
	return ""
}

// network is off unless somebody says otherwise; a runtime's wrapper is on
// unless the runtime says otherwise, as the documents of such runtimes promise.
// What the workspace says can only narrow that.
func (c *execCall) network(o *sbx.Options, override string, file config.Config, own config.WorkspaceFile) error {
	word := "off"
	if c.wrapping {
		word = "on"
	}
	for _, said := range [...]string{file.Network, override, string(c.net)} {
		if said != "" {
			word = said
		}
	}
	o.Proxy = file.Proxy
	o.AllowTags = append(slices.Clone(file.AllowTags), c.allowTags...)
	policy := netrules.Policy{Mode: netrules.On}
	if o.NetworkAuto = word == "auto"; !o.NetworkAuto {
		var err error
		if policy, err = netrules.Parse(word); err != nil {
			return err
		}
	}
	if own.Network != "" {
		limit, err := netrules.Parse(own.Network)
		if err != nil {
			return fmt.Errorf("%s: %w", own.Path, err)
		}
		if narrow := policy.Narrow(limit); narrow.String() != policy.String() {
			policy, o.NetworkWhy = narrow, "narrowed by "+config.WorkspaceFileName+" of the workspace"
		}
	}
	switch policy.Mode {
	case netrules.On:
		o.Network = sandbox.NetworkHost
	case netrules.Allow:
		o.Network, o.NetworkRules = sandbox.NetworkRules, policy.Words()
	}
	return nil
}
