package sbx

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/shell"
)

// Bounds of following scripts. What lies past them carries no tag, as any
// script that is run by name: the sandbox holds it, not the reading.
const (
	maxFollowDepth = 4         // scripts that call scripts
	maxFollowFiles = 32        // scripts of one command
	maxScriptBytes = 512 << 10 // of one script
	maxFollowBytes = 1 << 20   // of all of them
)

// Followed is a shell script of the workspace that a command runs by name.
type Followed struct {
	Path    string // absolute, without symbolic links
	Call    int    // index in Script.Calls of the call that runs it
	Report  Report // the reading of the script; places are places in it
	Skipped string // why it was not read; the Report is empty then
}

// Follow reads the shell scripts below workspace that the command runs by
// name, and those that they run. Their findings stand in Report.Followed, with
// places in their own text; their tags and violations count as the command's.
// A script may change between reading and running: what it may do is held by
// the sandbox, whatever was read.
func (r Report) Follow(workspace string) Report {
	dir, err := proc.EvalSymlinks(workspace)
	if err != nil {
		return r
	}
	return r.follow(dir, "")
}

// follow also reads one script outside: the file in which a runtime hands over
// the command itself. The workspace has no symbolic links in it.
func (r Report) follow(workspace, handed string) Report {
	if r.Script == nil {
		return r
	}
	f := &follower{dir: workspace, handed: handed}
	defer f.close()
	return f.report(r, 0)
}

// follower reads the scripts of one command. The workspace is opened when the
// first script is found: most commands run none.
type follower struct {
	dir    string   // the workspace, without symbolic links
	root   *os.Root // what is read cannot lie outside, whoever moves links meanwhile
	handed string
	seen   map[string]bool // scripts found already, with their arguments
	bytes  int             // read
}

func (f *follower) close() {
	if f.root != nil {
		f.root.Close()
	}
}

// inside reports whether a path without symbolic links lies in the workspace.
func (f *follower) inside(path string) bool { return path != f.dir && within(path, f.dir) }

func (f *follower) open(path string) (*os.File, error) {
	// A pipe that nobody writes to must not hold the reading up.
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	if path == f.handed {
		return os.OpenFile(path, flags, 0)
	}
	if f.root == nil {
		root, err := os.OpenRoot(f.dir)
		if err != nil {
			return nil, err
		}
		f.root = root
	}
	rel, err := filepath.Rel(f.dir, path)
	if err != nil {
		return nil, err
	}
	return f.root.OpenFile(rel, flags, 0)
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
		path, ok := f.find(r.Script.Calls[i].Dir, file)
		if !ok {
			continue
		}
		text, skipped := f.read(path)
		if skipped != "" {
			r.Followed = append(r.Followed, Followed{Path: path, Call: i, Skipped: skipped})
			continue
		}
		d := file.Dialect
		if file.Direct {
			d, ok = interpreterOf(text)
		}
		if !ok || text == "" {
			continue
		}
		at := r.Script.Where
		at.Workspace, at.Cwd = cmp.Or(at.Workspace, at.Cwd), r.Script.Calls[i].Dir
		script := shell.ParseFile(text, d, at, file.Path.Value, file.Args)
		inner := f.report(reportOn(script, r.allow), depth+1)
		r.Followed = append(r.Followed, Followed{Path: path, Call: i, Report: inner})
		r.Tags |= inner.Tags
	}
	return r
}

// find resolves the name of a script, once, and reports whether it lies in the
// workspace and was not found before: the same script with other arguments may
// do something else.
func (f *follower) find(dir string, file shell.File) (path string, ok bool) {
	name := file.Path.Value
	if !filepath.IsAbs(name) {
		if dir == "" {
			return "", false
		}
		name = filepath.Join(dir, name)
	}
	path, err := proc.EvalSymlinks(name)
	if err != nil || path != f.handed && !f.inside(path) {
		return "", false
	}
	key := path + "\x00" + dir + "\x00" + file.Dialect.String()
	for _, a := range file.Args {
		key += "\x00" + a.Value
	}
	if f.seen[key] {
		return "", false
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[key] = true
	return path, true
}

// read reads a script. No text and no reason: it is no text at all, and so no
// script of a shell.
func (f *follower) read(path string) (text, skipped string) {
	if len(f.seen) > maxFollowFiles {
		return "", fmt.Sprintf("more than %d scripts", maxFollowFiles)
	}
	in, err := f.open(path)
	if err != nil {
		return "", oneLine(err.Error())
	}
	defer in.Close()
	info, err := in.Stat()
	switch {
	case err != nil:
		return "", oneLine(err.Error())
	case info.IsDir():
		return "", ""
	case !info.Mode().IsRegular():
		return "", "not a regular file"
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(in, head)
	if n == 0 || bytes.IndexByte(head[:n], 0) >= 0 {
		return "", ""
	}
	limit := min(maxScriptBytes, maxFollowBytes-f.bytes)
	if info.Size() > int64(limit) {
		return "", fmt.Sprintf("larger than %d KiB", limit>>10)
	}
	data := head[:n]
	if err == nil {
		rest, err := io.ReadAll(io.LimitReader(in, int64(limit-n)+1))
		if err != nil {
			return "", oneLine(err.Error())
		}
		data = append(data, rest...)
	}
	if len(data) > limit {
		return "", fmt.Sprintf("larger than %d KiB", limit>>10)
	}
	f.bytes += len(data)
	return string(data), ""
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

// followed lists the scripts that were read.
func (r Report) followed(out []string) []string {
	for _, f := range r.Followed {
		if f.Skipped == "" && !slices.Contains(out, f.Path) {
			out = append(out, f.Path)
		}
		out = f.Report.followed(out)
	}
	return out
}

// AllAllowed lists what the owner's configuration lifted, in the command and in
// the scripts.
func (r Report) AllAllowed() []guard.Use {
	out := slices.Clip(r.Allowed)
	for _, f := range r.Followed {
		out = append(out, f.Report.AllAllowed()...)
	}
	return out
}

// findings counts those of the command and of the scripts.
func (r Report) findings() int {
	n := len(r.Findings)
	for _, f := range r.Followed {
		n += f.Report.findings()
	}
	return n
}
