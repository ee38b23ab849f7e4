package sbx

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sbx-run/sbx/sandbox/proc"
)

// grounds is what a workspace is judged against. All paths are absolute,
// clean, and without symbolic links as far as they exist.
type grounds struct {
	homes     []string // the caller's, and the one of the user the command runs as
	temps     []string // temp directories besides the well-known ones
	protected []string // configuration and state of sbx: nothing at, above or below
	files     []knownFile
	inHomes   []place // homePlaces of homes; nil: not made yet
}

// knownFile is a directory that is refused under any other name as well.
type knownFile struct {
	path string
	id   fileID
}

// identify fills in files: a bind mount, or another spelling where case does
// not count, is the same directory.
func (g *grounds) identify() {
	g.inHomes = placesIn(g.homes)
	for _, list := range [...][]string{g.homes, g.temps, g.protected, {"/", "/etc", "/tmp", "/usr"}} {
		for _, p := range list {
			if info, err := os.Stat(p); err == nil {
				g.files = append(g.files, knownFile{p, identify(info)})
			}
		}
	}
}

// resolveWorkspace turns what the caller gave into the directory that is used.
// Symbolic links are resolved here, once.
func resolveWorkspace(dir string) (string, os.FileInfo, error) {
	switch {
	case dir == "":
		return "", nil, &WorkspaceError{Why: "no workspace is set"}
	case !filepath.IsAbs(dir):
		return "", nil, &WorkspaceError{Path: dir, Why: "it is not an absolute path"}
	}
	resolved, err := proc.EvalSymlinks(dir)
	if err != nil {
		return "", nil, &WorkspaceError{Path: dir, Why: whyUnresolved(dir, err)}
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", nil, &WorkspaceError{Path: dir, Why: whyUnresolved(dir, err)}
	}
	if !info.IsDir() {
		return "", nil, &WorkspaceError{Path: dir, Why: "it is not a directory"}
	}
	return resolved, info, nil
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
	considerAll := func(list []place) {
		for _, p := range list {
			consider(p)
		}
	}
	for _, home := range homesAbove(dir) {
		if !slices.Contains(g.homes, home) {
			considerAll(placesIn([]string{home}))
		}
	}
	if g.inHomes == nil {
		g.inHomes = placesIn(g.homes)
	}
	considerAll(g.inHomes)
	considerAll(systemPlaces[:])
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

// placesIn lists homePlaces of each of the home directories.
func placesIn(homes []string) []place {
	list := make([]place, 0, len(homes)*len(homePlaces))
	for _, home := range homes {
		for _, p := range homePlaces {
			list = append(list, place{filepath.Join(home, p.path), p.reach, p.what})
		}
	}
	return list
}

// homesAbove finds home directories by their place: somebody else's home is as
// little a workspace as one's own.
func homesAbove(dir string) []string {
	for p := dir; p != filepath.Dir(p); p = filepath.Dir(p) {
		if up := filepath.Dir(p); up == "/home" || up == "/Users" || p == "/root" {
			return []string{p}
		}
	}
	return nil
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

// check refuses dir, a resolved directory that was given by another name perhaps.
func (g grounds) check(given, dir string, id fileID) error {
	if why := g.judge(dir); why != "" {
		return &WorkspaceError{Path: given, Resolved: dir, Why: why}
	}
	for _, known := range g.files {
		if known.id.dev == id.dev && known.id.ino == id.ino && id.ino != 0 {
			return &WorkspaceError{Path: given, Resolved: dir, Why: "it is the same directory as " + known.path}
		}
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
		resolved, err := proc.EvalSymlinks(p)
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
		if resolved, err := proc.EvalSymlinks(p); err == nil {
			return filepath.Join(resolved, rest)
		}
		if p == filepath.Dir(p) {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}
