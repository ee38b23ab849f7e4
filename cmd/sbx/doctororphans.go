package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx"
)

// sizeTime is how long files are counted without --live.
const sizeTime = 100 * time.Millisecond

// orphans looks for the caches and temp directories of workspaces that are gone.
func (c *doctorCall) orphans(engine *sbx.Engine) {
	gone, unknown := engine.Orphans()
	gone = slices.DeleteFunc(gone, func(o sbx.Orphan) bool { return slices.Contains(c.inSession, o.Workspace) })
	deadline := time.Time{}
	if !c.live {
		deadline = time.Now().Add(sizeTime)
	}
	if len(gone) > 0 {
		c.addMendable(levelNote, counted(len(gone), "cache and temp directory of a workspace that is", "caches and temp directories of workspaces that are")+" gone, "+sizes(gone, deadline),
			"rm -r takes them away", func() error { return engine.RemoveOrphans(gone) })
	}
	if len(unknown) > 0 {
		c.add(levelNote, counted(len(unknown), "cache and temp directory", "caches and temp directories")+" of which an earlier sbx did not say whose they are, "+sizes(unknown, deadline),
			"the next command in a workspace writes it down; rm -r takes away what is in no use")
	}
}

// sizes says how large directories are together, and each of the largest with its age.
func sizes(list []sbx.Orphan, deadline time.Time) string {
	type sized struct {
		sbx.Orphan
		bytes int64
	}
	var all []sized
	var sum int64
	whole := true
	for _, o := range list {
		bytes, counted := o.Size(deadline)
		all, sum, whole = append(all, sized{o, bytes}), sum+bytes, whole && counted
	}
	slices.SortStableFunc(all, func(a, b sized) int { return cmp.Compare(b.bytes, a.bytes) })
	var words []string
	for _, o := range all {
		words = append(words, fmt.Sprintf("%s (%s, unused for %s)", cmp.Or(o.Workspace, o.Dir), bytesText(o.bytes), roughly(time.Since(o.Used))))
	}
	least := ""
	if !whole {
		least = "at least "
	}
	return least + bytesText(sum) + ": " + strings.Join(shortened(words), ", ")
}
