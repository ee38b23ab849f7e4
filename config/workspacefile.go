package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// WorkspaceFile is what a project says about its own commands, in .sbx.json at
// the top of the workspace. Anybody who can change the project can change it, the
// command among them, so it can only narrow what the caller gives.
type WorkspaceFile struct {
	Path    string // "" when there is none
	Network string // "off", "on" or "allow:…"; "" when it does not say
	Limits  Limits
}

// WorkspaceFileName is the name of the file.
const WorkspaceFileName = ".sbx.json"

// ReadWorkspaceFile reads the file of a workspace. None is no error; one that
// cannot be read or understood is, because it was meant to confine. A link is not
// followed: it could lead out of the project.
func ReadWorkspaceFile(workspace string) (WorkspaceFile, error) {
	path := filepath.Join(workspace, WorkspaceFileName)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // no workspace: said elsewhere
		return WorkspaceFile{}, nil
	case err != nil:
		return WorkspaceFile{}, &Error{Path: path, Err: cause(err)}
	case !info.Mode().IsRegular():
		return WorkspaceFile{}, &Error{Path: path, Err: errors.New("not a regular file")}
	}
	data, err := readRegular(path)
	if err != nil {
		return WorkspaceFile{}, &Error{Path: path, Err: err}
	}
	return ParseWorkspaceFile(path, data)
}

var workspaceKeys = []string{"network", "limits"}

// ParseWorkspaceFile reads the text of a workspace file; path is for messages
// only. A key that is not known is an error: it was meant to narrow something. It
// is pure.
func ParseWorkspaceFile(path string, data []byte) (WorkspaceFile, error) {
	d, root, _, err := parseObject(path, data)
	if err != nil {
		return WorkspaceFile{}, err
	}
	w := WorkspaceFile{Path: path}
	d.known("", root, workspaceKeys, func(key string, value any) {
		if key == "limits" {
			w.Limits = d.limits(key, value)
			return
		}
		w.Network = d.network(key, value)
		if w.Network == "auto" {
			d.fail(key, `want "off", "on" or "allow:HOST,…", have "auto"`)
		}
	})
	if d.err != nil {
		return WorkspaceFile{}, d.err
	}
	return w, nil
}
