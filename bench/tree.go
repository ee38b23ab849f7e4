//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sbx-run/sbx"
)

// treeSizes are how many directories a workspace has.
var treeSizes = [...]int{0, 100, 1000}

// trees shows what the directories of a workspace cost each run of a program that
// lives on: after each it looks for what appeared in them.
func trees(w io.Writer, o options) error {
	var candidates []candidate
	for _, n := range treeSizes {
		ws := filepath.Join(o.dir, "tree"+strconv.Itoa(n))
		defer os.RemoveAll(ws)
		for i := range max(n, 1) {
			// Each tenth has directories in it, as those of a project have.
			at := filepath.Join(ws, strconv.Itoa(i/10), strconv.Itoa(i))
			if n == 0 {
				at = ws
			}
			if err := os.MkdirAll(at, 0o700); err != nil {
				return err
			}
		}
		e, err := sbx.New(sbx.Options{Workspace: ws, Environ: o.env(), Tier: "landlock"})
		if err != nil {
			return err
		}
		defer e.Close()
		candidates = append(candidates, candidate{name: treeRow(n), run: timed(func() error {
			result, err := e.Run(context.Background(), sbx.Request{Argv: []string{"/bin/true"}})
			if err == nil && result.ExitCode != 0 {
				err = fmt.Errorf("exit status %d", result.ExitCode)
			}
			return err
		})})
	}
	time.Sleep(3 * time.Second) // nothing is remembered of what changed a moment ago
	last := treeSizes[len(treeSizes)-1]
	return compare(w, "Engine.Run of /bin/true, tier landlock, by the directories of the workspace", o.rounds, candidates, []bound{
		{of: treeRow(treeSizes[1]), by: treeRow(0)}, {of: treeRow(last), by: treeRow(0)},
	})
}

func treeRow(n int) string { return strconv.Itoa(n) + " directories" }
