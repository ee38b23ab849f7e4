package direct

import (
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/cgroup"
)

// able says what control groups hold here.
func (v variant) able(w cgroup.Want) cgroup.Want {
	if v.ungrouped {
		return cgroup.Want{}
	}
	return cgroup.Host{}.Able(w)
}

// bound adds to a decision what it says of limits.
func (d *decision) bound(l sandbox.Limits, t bound.Terms) bound.Bounds {
	b, gaps := bound.Of(l, t)
	d.gaps = append(d.gaps, gaps...)
	d.enforced = append(d.enforced, l.Kept(gaps)...)
	return b
}
