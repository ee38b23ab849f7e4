package sbx

import (
	"path/filepath"
	"slices"

	"github.com/sbx-run/sbx/sandbox"
)

// withoutOwn takes the flag out of denials where it would open sbx's own
// directories: it is refused then, and nobody must be sent that way.
func withoutOwn(denials []sandbox.Denial, own []string) {
	for i := range denials {
		d := &denials[i]
		target := d.Path
		if d.To != "" {
			target = d.To
		}
		if slices.Contains([]sandbox.Operation{sandbox.DeniedCreate, sandbox.DeniedDelete, sandbox.DeniedRename, sandbox.DeniedLink}, d.Operation) {
			target = filepath.Dir(target)
		}
		for _, dir := range own {
			if target != "" && (within(target, dir) || within(dir, target)) {
				d.Allow = ""
			}
		}
	}
}
