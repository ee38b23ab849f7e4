package sbx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// grounds is what a workspace is judged against. All paths are absolute,
// clean, and without symbolic links as far as they exist.
type grounds struct {
	homes     []string // the caller's, and the one of the user the command runs as
	temps     []string // temp directories besides the well-known ones
	protected []string // configuration and state of sbx: nothing at, above or below
}

// resolveWorkspace turns what the caller gave into the directory that is used.
// Symbolic links are resolved here, once.
func resolveWorkspace(dir string) (string, error) {
	switch {
	case dir == "":
		return "", &WorkspaceError{Why: "no workspace is set"}
	case !filepath.IsAbs(dir):
		return "", &WorkspaceError{Path: dir, Why: "it is not an absolute path"}
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &WorkspaceError{Path: dir, Why: whyUnresolved(dir, err)}
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", &WorkspaceError{Path: dir, Why: whyUnresolved(dir, err)}
	}
	if !info.IsDir() {
		return "", &WorkspaceError{Path: dir, Why: "it is not a directory"}
	}
	return resolved, nil
}

func whyUnresolved(dir string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		if info, lerr := os.Lstat(dir); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "it is a symbolic link to nothing"
		}
		return "it does not exist"
	}
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err.Error()
	}
	return err.Error()
}

// judge says why dir, a resolved directory, may not be a workspace; "" when it may.
func (g grounds) judge(dir string) string {
	var nearest place // the one that says most
	consider := func(p place) {
		switch {
		case !p.covers(dir) || nearest.path == dir:
		case nearest.path == "" || p.path == dir || within(dir, p.path) && len(p.path) > len(nearest.path):
			nearest = p
		}
	}
	for _, home := range g.homes {
		for _, p := range homePlaces {
			consider(place{filepath.Join(home, p.path), p.reach, p.what})
		}
	}
	for _, p := range systemPlaces {
		consider(p)
	}
	for _, t := range g.temps {
		if dir == t { // what contains one, as a project with its own TMPDIR does, is fine
			consider(place{t, itself, "the shared temp directory"})
		}
	}
	if nearest.path == "" {
		for _, p := range g.protected {
			consider(place{p, tree, "the configuration or state of sbx itself"})
		}
	}
	if nearest.path == "" {
		return ""
	}
	return verdict(dir, nearest.path, nearest.what)
}

func verdict(dir, place, what string) string {
	switch {
	case dir == place:
		return "it is " + what
	case within(place, dir):
		return "it contains " + place + ", " + what
	}
	return "it lies in " + place + ", " + what
}

// sameAs finds the directory of g that is the same file as dir under another
// name: a bind mount, or another spelling where case does not count.
func (g grounds) sameAs(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	for _, list := range [...][]string{g.homes, g.temps, g.protected, {"/", "/etc", "/tmp", "/usr"}} {
		for _, p := range list {
			if other, err := os.Stat(p); err == nil && os.SameFile(info, other) {
				return p
			}
		}
	}
	return ""
}

// check is resolve's second half: the judgement on the resolved directory.
func (g grounds) check(given, dir string) error {
	if why := g.judge(dir); why != "" {
		return &WorkspaceError{Path: given, Resolved: dir, Why: why}
	}
	if other := g.sameAs(dir); other != "" {
		return &WorkspaceError{Path: given, Resolved: dir, Why: "it is the same directory as " + other}
	}
	return nil
}

// resolvePaths resolves further paths that a caller grants or hides; each must
// be absolute and exist. option names them in the error.
func resolvePaths(option string, paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, &PathError{Option: option, Path: p, Why: "it is not an absolute path"}
		}
		resolved, err := filepath.EvalSymlinks(p)
		if err != nil {
			return nil, &PathError{Option: option, Path: p, Why: whyUnresolved(p, err)}
		}
		out = append(out, resolved)
	}
	return out, nil
}

// realPath resolves what exists of path and keeps the rest.
func realPath(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for p := path; ; p = filepath.Dir(p) {
		if resolved, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(resolved, rest)
		}
		if p == filepath.Dir(p) {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}
