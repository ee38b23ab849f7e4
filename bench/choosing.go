//go:build linux

package main

import (
	"fmt"
	"io"
	"time"
)

// choosing measures what it costs that a command names no backend, and sbx doctor.
func choosing(w io.Writer, o options) error {
	const (
		auto    = "sbx exec -- /bin/true (no backend named)"
		named   = "sbx exec --backend direct -- /bin/true"
		doctor  = "sbx doctor"
		atMost  = 300 * time.Millisecond
		choices = 1.02
	)
	ws := o.workspace()
	all, err := interleave(o.rounds, []candidate{
		o.candidate(named, o.sbx, "exec", "--backend", "direct", "--workspace", ws, "--", "/bin/true"),
		o.candidate(auto, o.sbx, "exec", "--workspace", ws, "--", "/bin/true"),
		o.candidate(doctor, o.sbx, "doctor"),
	})
	if err != nil {
		return err
	}
	if err := report(w, "Choosing a backend, and the doctor", o.rounds, all, []bound{{of: auto, by: named, atMost: choices}}); err != nil {
		return err
	}
	took := find(all, doctor).median()
	fmt.Fprintf(w, "  %s: %s ms (target at most %s ms: %s)\n", doctor, ms(took), ms(atMost), verdict(took <= atMost))
	return nil
}
