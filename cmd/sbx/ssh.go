package main

import (
	"cmp"

	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// sshFlags say where the backend ssh runs commands.
type sshFlags struct{ host, workspace, dir string }

func (f *sshFlags) declare(flags *flags) {
	flags.StringVar(&f.host, "ssh-host", "", "")
	flags.StringVar(&f.workspace, "ssh-workspace", "", "")
	flags.StringVar(&f.dir, "ssh-dir", "", "")
}

// settle puts flags over PEPE_SANDBOX_SSH_* over the configuration. What the
// file says of connecting to its machine is not for one that is named elsewhere.
func (f *sshFlags) settle(s *config.SSH, over config.Overrides) {
	if host := cmp.Or(f.host, over.SSHHost, s.Host); host != s.Host {
		s.Host, s.Options, s.Program = host, "", ""
	}
	s.Workspace = cmp.Or(f.workspace, over.SSHWorkspace, s.Workspace)
	s.Dir = cmp.Or(f.dir, over.SSHDir, s.Dir)
	s.Options = cmp.Or(over.SSHOptions, s.Options)
}

func sshOptions(s config.SSH) ssh.Options {
	return ssh.Options{
		Host: s.Host, Options: s.Options, Workspace: ssh.Mode(s.Workspace), Dir: s.Dir, Program: s.Program, Client: s.Client, Keep: s.Keep,
	}
}
