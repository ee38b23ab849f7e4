package main

import (
	"os"
	"path/filepath"
	"strings"
)

const (
	// wrapperName is the name that makes every argument the program's.
	wrapperName = ownName + wrapperEnd
	wrapperEnd  = "-exec"
	// workspaceVar is how an agent runtime names the workspace.
	workspaceVar = "PEPE_SANDBOX_CWD"
	// resultVar is --result for a wrapper, which has no flags.
	resultVar = "SBX_RESULT"
	// agentVar and projectVar are --agent and --project.
	agentVar   = "SBX_AGENT"
	projectVar = "SBX_PROJECT"
)

// isWrapperName says whether a program was called by the name of the wrapper, or,
// where sbx has another name, by that name and the same end.
func isWrapperName(arg string) bool {
	return strings.HasSuffix(filepath.Base(arg), wrapperEnd)
}

func isWrapped() bool {
	_, set := os.LookupEnv(workspaceVar)
	return set
}

// wrapper is sbx called as sbx-exec: all arguments are the program's.
func wrapper(s *streams, argv []string) int {
	c := wrappedCall(argv)
	var err error
	if len(argv) == 0 {
		err = usage("no program", wrapperName+" PROGRAM ARGUMENT… with "+workspaceVar+" set to the workspace")
	}
	return c.start(s, err, execHelp)
}

func wrappedCall(argv []string) *execCall {
	c := newExecCall("exec")
	c.verb, c.args = wrapperName, argv
	c.wrapping = true
	c.request.Argv = argv
	return c
}
