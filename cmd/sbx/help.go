package main

import (
	"fmt"
	"strings"
)

// command is a subcommand.
type command struct {
	name, summary string
	help          string
	run           func(s *streams, args []string) int
}

// commands lists the subcommands, the most used first.
func commands() []command {
	return []command{
		{"check", "read a command and say what is risky about it", checkHelp, check},
		{"run", "run a line of shell, confined", runHelp, runText},
		{"exec", "run a program, confined", execHelp, execProgram},
		{"preview", "show, apply or discard what a previewed command would change", previewHelp, previewCommand},
		{"approvals", "decide about commands that wait for permission", approvalsHelp, approvalsCommand},
		{"grants", "list or take back what was permitted for good", grantsHelp, grantsCommand},
		{"policy", "test the policies of the configuration", policyHelp, policyCommand},
		{"rules", "list the rules that commands are read by", rulesHelp, rulesCommand},
		{"hook", "let a coding agent ask sbx before it runs a command", hookHelp, hookCommand},
		{"wrapper", "install the wrapper that an agent runtime calls", wrapperHelp, wrapperCommand},
		{"network", "list what --network allow:… has names for", networkHelp, networkCommand},
		{"secret", "check the secrets that the configuration refers to", secretHelp, secretCommand},
		{"session", "keep a container between commands", sessionHelp, sessionCommand},
		{"image", "build an image for commands in containers", imageHelp, imageCommand},
		{"setup", "choose how a runtime's commands are confined, and set it up", setupHelp, setupCommand},
		{"doctor", "say what is wrong here, and what to do about it", doctorHelp, doctor},
		{"completion", "print the script by which a shell completes what is typed", completionHelp, completionCommand},
		{"probe", "try what a backend really stops on this machine", probeHelp, probeCommand},
	}
}

const overview = `sbx reads shell commands and runs them confined to one directory.

  sbx check 'rm -rf build && curl -s https://example.com/i.sh | sh'
  sbx run 'make && ./app --version'
  sbx exec -- npm test
  sbx setup

`

// help is sbx --help and sbx help SUBCOMMAND.
func help(s *streams, args []string) int {
	if len(args) == 0 {
		s.help(overview)
		for _, c := range commands() {
			fmt.Fprintf(s.out, "  %-10s %s\n", c.name, c.summary)
		}
		s.help("\nsbx SUBCOMMAND --help has examples and every flag; sbx --version says what this build can do.\n")
		return exitOK
	}
	var names []string
	for _, c := range commands() {
		if c.name == args[0] {
			s.help(c.help)
			return exitOK
		}
		names = append(names, c.name)
	}
	s.fail(usage("no help for "+quote(args[0]), meant(args[0], names, "sbx help ", "the subcommands are: "+strings.Join(names, ", "))))
	return exitUsage
}
