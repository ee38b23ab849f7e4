//go:build unix && !linux

package proc

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// tree is the command and what it started: its process group. A person's command
// on a terminal shares the group of sbx, so that the terminal takes both for one
// job; of such a group the members are looked up (see members).
type tree struct {
	cmd    *exec.Cmd
	shared bool
}

// treeOf says how the command is started.
func treeOf(cmd *exec.Cmd, j Job) (*tree, error) {
	t := &tree{cmd: cmd, shared: j.Supervisor && InForeground()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !t.shared}
	if i := j.Identity; i != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: i.UID, Gid: i.GID, Groups: i.Groups}
	}
	return t, nil
}

// signal reaches all that is there.
func (t *tree) signal(sig os.Signal) {
	s, ok := sig.(syscall.Signal)
	if !ok || t.cmd.Process == nil {
		return
	}
	if !t.shared {
		_ = unix.Kill(-t.cmd.Process.Pid, s)
		return
	}
	_ = t.cmd.Process.Signal(s) // nothing once it was waited for
	for _, pid := range members(unix.Getpgrp(), t.cmd.Process.Pid) {
		_ = unix.Kill(pid, s)
	}
}

// terminate asks all to end. What is stopped takes that only when it goes on.
func (t *tree) terminate() {
	t.signal(unix.SIGTERM)
	t.signal(unix.SIGCONT)
}

// record fills in how the command ended.
func record(r *sandbox.Result, state *os.ProcessState) {
	ending := sandbox.Exited
	r.ExitCode = state.ExitCode()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		ending, r.Signal = sandbox.Signaled, int(ws.Signal())
		r.ExitCode = 128 + r.Signal
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		r.PeakBytes = peakBytes(usage)
	}
	if r.Ending == "" {
		r.Ending = ending
	}
}

// TerminalSends says whether a signal that reached this process is one that the
// terminal sends to its whole foreground job, so that the command of a supervisor
// has it already.
func TerminalSends(sig os.Signal) bool {
	switch sig {
	case unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH, unix.SIGTSTP:
		return InForeground()
	}
	return false
}
