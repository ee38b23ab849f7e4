//go:build amd64 || arm64

package probes

import (
	"fmt"
	"os"

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
