//go:build amd64 || arm64

package probes

import (
	"os"

	"github.com/sbx-run/sbx/sandbox"
)

// whileRunning lets the command wait, puts a credential file in the home
// directory as programs do it, by renaming a new one there, and lets the command
// read it. What was there before holds another secret, which is no evidence.
func (r *runner) whileRunning(row Row, at place, name string) (observation, []sandbox.Gap) {
	started, ready := r.room.ws()+"/started", r.room.ws()+"/ready"
	file, next := r.room.home()+"/"+name, r.room.home()+"/.probe-next"
	if _, err := os.Lstat(file); err == nil {
		if err := os.WriteFile(file, []byte("an older one\n"), 0o644); err != nil {
			return observation{trouble: err.Error()}, nil
		}
	}
	before := r.room.state()
	j := r.startAs(r.act("read-when", file, started, ready), at, row.Setup, way{})
	if j.failure != nil || j.first.Nothing {
		return r.judge(row, before, j.wait()), j.first.Plan.Gaps
	}
	var err error
	if await(func() bool { _, err := os.Lstat(started); return err == nil }) {
		if err = os.WriteFile(next, []byte(r.room.secret+"\n"), 0o644); err == nil {
			err = os.Rename(next, file)
		}
		if err == nil {
			err = os.WriteFile(ready, nil, 0o644)
		}
	}
	d := j.wait()
	if err != nil {
		return observation{trouble: err.Error()}, nil
	}
	return r.judge(row, before, d), d.plan.Gaps
}
