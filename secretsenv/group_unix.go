//go:build unix

package secretsenv

import (
	"os/exec"
	"syscall"
)

// endAll lets the end of a command's time end what it started, too.
func endAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
