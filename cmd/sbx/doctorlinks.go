package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx/sandbox/proc"
)

// The search for links ends after so many files or so long: it says so then.
const (
	maxLinkFiles = 500_000
	maxLinkTime  = 20 * time.Second
)

// linkSearch is what was found on the way.
type linkSearch struct {
	root  string
	names map[fileID][]string // of files with a second name, those below root
	links map[fileID]uint64   // how many names each has
	out   []string            // symbolic links that leave root
	// system are those that lead to what is installed there: nobody but root
	// changes that.
	system []string
	seen   int
}

// installed are the trees of the system's programs and libraries.
var installed = [...]string{"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/opt/", "/nix/store/"}

// links looks for what a command in the workspace could change outside of it by a
// second name, and for what programs outside follow out of it.
func (c *doctorCall) links(ctx context.Context) {
	root, err := c.here()
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		c.add(levelWarning, "the workspace cannot be looked at: "+err.Error(), "name one with --workspace")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxLinkTime)
	defer cancel()
	s := linkSearch{root: root, names: map[fileID][]string{}, links: map[fileID]uint64{}}
	done := s.walk(ctx)
	if !done {
		c.add(levelNote, fmt.Sprintf("the search for links ended after %d files", s.seen), "name a smaller directory with --workspace")
	}
	hard, elsewhere := s.shared()
	if len(hard) > 0 && done {
		c.add(levelWarning, fmt.Sprintf("%s a second name outside of %s, under which a command changes it, too: %s", counted(len(hard), "file has", "files have"), root, strings.Join(shortened(hard), ", ")),
			"cp -p FILE FILE.new && mv FILE.new FILE gives it a copy of its own; objects of a repository come from git clone of a local path (--no-hardlinks)")
	}
	if len(s.system) > 0 {
		c.add(levelNote, fmt.Sprintf("%s out of %s to what the system has installed, as those of a Python environment do: %s", counted(len(s.system), "symbolic link leads", "symbolic links lead"), root, strings.Join(shortened(s.system), ", ")), "")
	}
	if len(s.out) > 0 {
		c.add(levelWarning, fmt.Sprintf("%s out of %s; a command can read there, and who follows them outside leaves it: %s", counted(len(s.out), "symbolic link leads", "symbolic links lead"), root, strings.Join(shortened(s.out), ", ")),
			"fine where they are meant; otherwise remove them")
	}
	if len(hard)+len(s.out)+len(s.system) == 0 && done {
		what := fmt.Sprintf("%s: no link leads out of it", root)
		if elsewhere > 0 {
			what += fmt.Sprintf(" (%d files have several names, all in it)", elsewhere)
		}
		c.add(levelOK, what, "")
	}
}

// walk goes through the workspace, and reports whether it came to the end. What
// cannot be read is left out.
func (s *linkSearch) walk(ctx context.Context) bool {
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil || s.seen == maxLinkFiles {
			return fs.SkipAll
		}
		s.seen++
		if err != nil {
			return nil
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			s.symlink(path)
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil {
				if id, n, ok := identify(info); ok && n > 1 {
					s.names[id], s.links[id] = append(s.names[id], s.relative(path)), n
				}
			}
		}
		return nil
	})
	return err == nil && ctx.Err() == nil && s.seen < maxLinkFiles
}

func (s *linkSearch) relative(path string) string {
	if rel, err := filepath.Rel(s.root, path); err == nil {
		return rel
	}
	return path
}

// symlink keeps a link that leads out, also where nothing is at its end.
func (s *linkSearch) symlink(path string) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		to, rerr := os.Readlink(path)
		if rerr != nil {
			return
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		target = filepath.Clean(to)
	}
	if target != s.root && !strings.HasPrefix(target, strings.TrimSuffix(s.root, "/")+"/") {
		list := &s.out
		if slices.ContainsFunc(installed[:], func(tree string) bool { return strings.HasPrefix(target, tree) }) && proc.Guarded(target) == nil {
			list = &s.system
		}
		*list = append(*list, s.relative(path))
	}
}

// shared lists the files that have a name outside, and counts those that have not.
func (s *linkSearch) shared() (outside []string, inside int) {
	for id, names := range s.names {
		if uint64(len(names)) < s.links[id] {
			outside = append(outside, names[0])
		} else {
			inside++
		}
	}
	slices.Sort(outside)
	return outside, inside
}
