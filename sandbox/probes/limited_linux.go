//go:build amd64 || arm64

package probes

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// limited does an act that goes over the limit of the row: PROCEDURE LIMIT ACT…,
// or PROCEDURE LIMIT sh TEXT. The record must say that this limit was reached,
// and nothing of the run may go on.
func (r *runner) limited(row Row, at place) (observation, []sandbox.Gap) {
	words := row.Procedure[2:]
	argv := r.act(words...)
	if words[0] == "sh" {
		argv = []string{"sh", "-c", "echo reached\n" + words[1]}
	}
	d := r.start(argv, at, row.Setup).wait()
	_ = os.Remove(r.room.base + "/private/tmp/big")
	if d.err != "" {
		return failure(d)
	}
	if at == outdoors {
		return observation{ran: true, open: d.ending == sandbox.Exited && d.code == 0, detail: d.describe()}, nil
	}
	o := observation{ran: true, open: string(d.limit) != row.Procedure[1], detail: fmt.Sprintf("reached the limit %q, ended by %q", d.limit, d.ending)}
	if o.open && d.limit == "" {
		o.detail = "no limit was reached: " + d.describe()
	}
	return o, d.plan.Gaps
}

// limitsRequired asks for every limit, and then, one by one and without accepting
// its gap, for those that the backend does not keep.
func (r *runner) limitsRequired() (observation, []sandbox.Gap) {
	all := sandbox.Limits{
		CPUTime: time.Minute, MemoryBytes: 1 << 30, Processes: 500, FileBytes: 1 << 30, DiskBytes: 1 << 30, TempBytes: 1 << 26, OutputBytes: 1 << 20,
	}
	d := r.start(r.act("nothing"), indoors, Setup{Limits: all}).wait()
	if d.err != "" {
		return failure(d)
	}
	refused := 0
	for i, c := range all.Asked() {
		if namedGap([]sandbox.Control{c}, d.plan.Gaps) == "" {
			continue
		}
		others := slices.Delete(all.Asked(), i, i+1)
		alone := r.startAs(r.act("create", "$W/ran"), indoors, Setup{Limits: all.Without(others)}, way{change: func(o *order) {
			o.Profile.Accept = slices.DeleteFunc(sandbox.Controls(), func(a sandbox.Control) bool { return a == c })
		}}).wait()
		if _, err := os.Stat(r.room.ws() + "/ran"); err == nil || !alone.none {
			return observation{ran: true, open: true, detail: string(c) + " was asked for, is missing, and the command ran"}, nil
		}
		refused++
	}
	return observation{ran: true, detail: fmt.Sprintf("refused, each of %d", refused)}, nil
}
