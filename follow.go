package sbx

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// Bounds of following scripts. What lies past them carries no tag, as any
// script that is run by name: the sandbox holds it, not the reading.
const (
	maxFollowDepth = 4       // scripts that call scripts
	maxFollowFiles = 32      // scripts of one command
	maxScriptBytes = 1 << 20 // of one script
)

// Followed is a shell script of the workspace that a command runs by name.
type Followed struct {
	Path   string // absolute, without symbolic links
	Call   int    // index in Script.Calls of the call that runs it
	Report Report // the reading of the script; places are places in it
}

// Follow reads the shell scripts below workspace that the command runs by
// name, and those that they run. Their findings stand in Report.Followed, with
// places in their own text; their tags and violations count as the command's.
// A script may change between reading and running: what it may do is held by
// the sandbox, whatever was read.
func (r Report) Follow(workspace string) Report {
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil || r.Script == nil {
		return r
	}
	f := &follower{root: root, files: map[string]bool{}}
	return f.report(r, 0)
}

type follower struct {
	root  string
	files map[string]bool // read already
}

func (f *follower) report(r Report, depth int) Report {
	if depth >= maxFollowDepth {
		return r
	}
	for i := range r.Script.Calls {
		file, ok := r.Script.Runs(i)
		if !ok || !file.Path.Literal {
			continue
		}
		path, text, ok := f.read(r.Script.Calls[i].Dir, file)
		if !ok {
			continue
		}
		d := file.Dialect
		if file.Direct {
			if d, ok = interpreterOf(text); !ok {
				continue
			}
		}
		at := r.Script.Where
		if at.Workspace == "" {
			at.Workspace = at.Cwd
		}
		at.Cwd = r.Script.Calls[i].Dir
		script := shell.ParseFile(text, d, at, file.Path.Value, file.Args)
		tags, findings := classify.Classify(script)
		inner := f.report(Report{Script: script, Tags: tags, Findings: findings, Violations: guard.Check(script)}, depth+1)
		r.Followed = append(r.Followed, Followed{Path: path, Call: i, Report: inner})
		r.Tags |= inner.Tags
	}
	return r
}

// read opens a script once, when it lies in the workspace and is a regular file
// of bounded size.
func (f *follower) read(dir string, file shell.File) (path, text string, ok bool) {
	path = file.Path.Value
	if !filepath.IsAbs(path) {
		if dir == "" {
			return "", "", false
		}
		path = filepath.Join(dir, path)
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(path, f.root+"/") || f.files[path] || len(f.files) >= maxFollowFiles {
		return "", "", false
	}
	f.files[path] = true
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeType != 0 || info.Size() > maxScriptBytes {
		return "", "", false
	}
	in, err := os.Open(path)
	if err != nil {
		return "", "", false
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxScriptBytes+1))
	if err != nil || len(data) > maxScriptBytes || bytes.IndexByte(data[:min(len(data), 512)], 0) >= 0 {
		return "", "", false
	}
	return path, string(data), true
}

// interpreterOf reads the first line of a script. A text without one is run by
// the shell that finds it.
func interpreterOf(text string) (shell.Dialect, bool) {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return shell.Sh, true
	}
	name := filepath.Base(words[0])
	if name == "env" {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		if len(words) == 0 {
			return shell.Sh, false
		}
		name = filepath.Base(words[0])
	}
	d, err := shell.ParseDialect(name)
	return d, err == nil
}
