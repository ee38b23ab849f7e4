package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// guardAllow are the owner's exceptions to guard's rules. They count only where
// the command cannot have written them: not from a file in the workspace.
func guardAllow(file config.Config, workspace string) ([]guard.Allow, error) {
	if len(file.GuardAllow) == 0 {
		return nil, nil
	}
	if lies(file.Path, workspace) {
		return nil, &insideError{file.Path}
	}
	var out []guard.Allow
	for i, a := range file.GuardAllow {
		allow := guard.Allow{Rule: a.Rule, Path: a.Path, Argv: a.Argv, Reason: a.Reason}
		if allow.Path != "" {
			allow.Path = filepath.Clean(allow.Path)
		}
		if err := allow.Check(); err != nil {
			return nil, fmt.Errorf("config %q: sbx.guard.allow[%d]: %w", file.Path, i, err)
		}
		out = append(out, allow)
	}
	return out, nil
}

// insideError: exceptions do not count, because a command may have written them.
type insideError struct{ file string }

func (e *insideError) Error() string {
	return fmt.Sprintf("config %q: sbx.guard.allow: the file lies in the workspace, where a command can write it", e.file)
}

// lies reports whether a file lies in a directory, under whatever name.
func lies(file, dir string) bool {
	if dir == "" {
		return false
	}
	for _, path := range [...]string{file, resolvedPath(file)} {
		for _, root := range [...]string{filepath.Clean(dir), resolvedPath(dir)} {
			if path == root || root == "/" || strings.HasPrefix(path, root+string(filepath.Separator)) {
				return true
			}
		}
	}
	return false
}

func resolvedPath(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return filepath.Clean(path)
}

// allowances are the exceptions for commands that are only read. What is wrong
// with the configuration is said, and then there are none. That they do not
// count here is returned: it matters only to a command that is refused.
func (s *streams) allowances(workspace string) (allow []guard.Allow, ignored error) {
	file, err := config.Load(os.Getenv)
	if err == nil {
		allow, err = guardAllow(file, workspace)
	}
	var inside *insideError
	switch {
	case errors.As(err, &inside):
		ignored = err
	case err != nil:
		s.say("hint", err.Error()+" (sbx exec refuses until this is corrected)")
	}
	return allow, ignored
}

// checkAllowing is guard for a hook. The configuration is read only when there
// is something to lift.
func checkAllowing(script *shell.Script) []guard.Violation {
	left := guard.Check(script)
	if len(left) == 0 {
		return nil
	}
	file, err := config.Load(os.Getenv)
	if err != nil {
		return left
	}
	allow, err := guardAllow(file, cmp.Or(script.Where.Workspace, script.Where.Cwd))
	if err != nil {
		return left
	}
	left, _ = guard.CheckAllowing(script, allow)
	return left
}
