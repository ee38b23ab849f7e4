package sbx

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/protect"
)

// protect lists the files of the workspace that programs outside read or run
// later. It is done for each run: they come and go.
func (j *job) protect(p *sandbox.Profile) error {
	o := &j.engine.options
	look := *p
	look.Write = append(slices.Clone(p.Write), j.preview.homes...)
	watch, err := protect.Find(look, protect.Options{Protect: o.Protect, Unprotect: o.Unprotect, Strict: o.ProtectStrict, Memory: &j.engine.seen})
	var name *protect.NameError
	if errors.As(err, &name) {
		return &PathError{Option: name.Option, Path: name.Path, Why: name.Why}
	}
	if err != nil {
		return err
	}
	j.watch, p.Protect = watch, append(watch.Paths(), j.preview.own...)
	p.Write = append(p.Write, watch.Open()...)
	return nil
}

// lookAfter reports what the command left for programs outside.
func (j *job) lookAfter(err error) {
	if err != nil && !errors.Is(err, sandbox.ErrLost) || j.result.Ending == sandbox.NotFound || j.result.Ending == sandbox.NotExec {
		return // nothing ran
	}
	if j.watch == nil { // an errand
		return
	}
	trust := j.watch.Report(protect.Limit)
	j.result.Trust = trust
	known := []string{trust.Incomplete}
	for _, f := range trust.Findings {
		if f.Change != sandbox.TrustShared {
			j.result.NewTrust = true
		}
		known = append(known, string(f.Change), f.Path)
	}
	if (trust.Incomplete != "" || len(trust.Findings) > 0) && !j.result.NewTrust && j.private != nil {
		j.result.NewTrust = j.private.firstTime("trust " + strings.Join(known, "\x00")) // as it was before the run
	}
	for _, given := range j.watch.Unknown() {
		j.result.Hints = append(j.result.Hints, "unprotect "+given+": no such file is protected; --dry-run lists those that are")
	}
	if dirs := j.watch.Worktrees(); j.result.ExitCode != 0 && len(dirs) > 0 && removesWorktree(j.script) {
		j.result.Hints = append(j.result.Hints, "linked worktrees that were there before the command are protected; --unprotect "+j.shorten(dirs[0])+" lets git remove them")
	}
	if changesGitConfig(j.script) {
		for _, file := range j.watch.Locked() {
			j.result.Hints = append(j.result.Hints, file+" is protected, because git reads from it which programs to run; --unprotect "+j.shorten(file)+" lets the command change it")
		}
	}
}

// shorten gives a path as it is written below the workspace.
func (j *job) shorten(path string) string {
	if rest, err := filepath.Rel(j.result.Workspace, path); err == nil && within(path, j.result.Workspace) {
		return rest
	}
	return path
}
