//go:build !unix

package proc

import (
	"os"
	"os/exec"

	"github.com/sbx-run/sbx/sandbox"
)

// tree is the command alone: trees are not ended on this system.
type tree struct{ cmd *exec.Cmd }

func treeOf(cmd *exec.Cmd, j Job) (*tree, error) {
	if j.Identity != nil {
		return nil, sandbox.ErrUnsupported
	}
	return &tree{cmd}, nil
}

func (t *tree) signal(sig os.Signal) {
	if t.cmd.Process != nil {
		_ = t.cmd.Process.Signal(sig)
	}
}

// terminate cannot ask here.
func (t *tree) terminate() { t.signal(os.Kill) }

func record(r *sandbox.Result, state *os.ProcessState) {
	if r.ExitCode = state.ExitCode(); r.Ending == "" {
		r.Ending = sandbox.Exited
	}
}

// TerminalSends says whether the terminal delivered a signal to the command as
// well.
func TerminalSends(sig os.Signal) bool { return sig == os.Interrupt }
