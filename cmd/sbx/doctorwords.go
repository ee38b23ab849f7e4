package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// words finds names in the configuration that mean nothing, where that is not
// found when it is read, and programs that cannot be started.
func (c *doctorCall) words() {
	c.grants("sbx.auto_approve", c.file.Grants)
	for _, name := range slices.Sorted(maps.Keys(c.file.Agents)) {
		c.grants("agents."+name+".auto_approve", c.file.Agents[name].AutoApprove)
	}
	for _, w := range c.file.Wrappers {
		if _, err := commandBackend(w.Path, c.file.Wrappers); err != nil {
			c.addError(levelBroken, "commands by "+w.Path+" are refused: ", err)
		}
	}
	for _, h := range c.file.Helpers {
		if err := proc.Trusted(h.Path, sandbox.Profile{}); err != nil {
			c.add(levelWarning, "the backend "+h.Name+" is refused: sbx.helpers names "+h.Path+": "+err.Error(), "correct the path, or what is wrong with the file")
		}
	}
	if _, err := sbx.FindProxy(c.file.Proxy); err != nil {
		l := levelWarning
		if strings.HasPrefix(c.file.Network, "allow:") {
			l = levelBroken
		}
		c.add(l, "commands with a list of hosts (allow:…) are refused: "+err.Error(), "")
	}
}

// grants finds risks that no command has: such a grant covers nothing.
func (c *doctorCall) grants(key string, list []string) {
	for _, text := range list {
		for _, risk := range permit.ParseGrant(text).Risks {
			if _, known := classify.Parse(risk); !known {
				names := (^classify.Tags(0)).Names()
				c.add(levelWarning, key+": "+quote(text)+" covers nothing: there is no risk "+quote(risk), meant(risk, names, "", "the risks are: "+strings.Join(names, ", ")))
			}
		}
	}
}
