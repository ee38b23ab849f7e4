//go:build amd64 || arm64

package probes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/protect"
)

// inWorkspace does a text for sh there, without a sandbox.
func (r *runner) inWorkspace(text string) error {
	cmd := exec.Command("/bin/sh", "-ec", text)
	cmd.Dir, cmd.Env = r.room.ws(), r.environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", text, err, out)
	}
	return nil
}

// prepared lays the workspace out, and looks whether the act changes what is
// trusted there.
func (r *runner) prepared(row Row, at place) (observation, []sandbox.Gap) {
	if err := r.inWorkspace(row.Procedure[1]); err != nil {
		return observation{trouble: err.Error()}, nil
	}
	names := row.Procedure[3:]
	before := r.contents(names)
	d := r.start([]string{"sh", "-c", "echo reached; cd \"$W\"; " + row.Procedure[2]}, at, row.Setup).wait()
	o := observation{ran: strings.Contains(d.out, "reached") && d.err == "", open: r.contents(names) != before, detail: d.describe()}
	if o.open {
		o.detail = "changed " + strings.Join(names, ", ")
	}
	return o, d.plan.Gaps
}

// contents is what stands at names of the workspace, links as they are.
func (r *runner) contents(names []string) string {
	var b strings.Builder
	for _, name := range names {
		_ = filepath.WalkDir(filepath.Join(r.room.ws(), name), func(path string, e os.DirEntry, err error) error {
			if err != nil {
				fmt.Fprintln(&b, path, "is not there")
				return nil
			}
			text, _ := os.ReadFile(path)
			to, _ := os.Readlink(path)
			fmt.Fprintf(&b, "%s %v %q %s\n", path, e.Type(), text, to)
			return nil
		})
	}
	return b.String()
}

// reported makes files that were not there. Open is what is there afterwards and
// was neither named in the report nor, when that was asked for, taken back.
func (r *runner) reported(row Row, at place, how protect.Options) (observation, []sandbox.Gap) {
	names := row.Procedure[2:]
	for _, name := range names {
		if err := removeAll(filepath.Join(r.room.ws(), name)); err != nil {
			return observation{trouble: err.Error()}, nil
		}
	}
	time.Sleep(coarse)
	d := r.startAs([]string{"sh", "-c", "echo reached; cd \"$W\"; " + row.Procedure[1]}, at, row.Setup, way{change: func(o *order) { o.Protection = how }}).wait()
	o := observation{ran: strings.Contains(d.out, "reached") && d.err == "", detail: "not made: " + d.describe()}
	for _, name := range names {
		path := filepath.Join(r.room.ws(), name)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		o.detail = "made, and reported"
		if how.Strict || !named(d.trust, path) {
			return observation{ran: o.ran, open: true, detail: "made " + name}, d.plan.Gaps
		}
	}
	if how.Strict && d.trust != nil && len(d.trust.Findings) > 0 {
		o.detail = "taken back"
	}
	return o, d.plan.Gaps
}

// coarse is the longest step of a file system's clock.
const coarse = 10 * time.Millisecond

func named(t *sandbox.Trust, path string) bool {
	if t == nil {
		return false
	}
	for _, f := range t.Findings {
		if f.Path == path && f.Change == sandbox.TrustAppeared {
			return true
		}
	}
	return false
}
