package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/changes"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/none"
)

// leftovers looks for what runs left behind: sessions, previews, temp directories,
// and with --live containers.
func (c *doctorCall) leftovers(ctx context.Context) {
	before := len(c.findings)
	if sessions, err := sessionsHere(); err == nil { // those that have ended go with the listing
		for _, r := range sessions {
			c.inSession = append(c.inSession, r.Profile.Workspace)
			c.addMendable(levelNote, fmt.Sprintf("session %s of %s is open since %s, for %s", r.Key, r.Backend, r.Started.Format(time.DateTime), r.Profile.Workspace),
				"it ends by itself; sbx session stop "+r.Key, nil)
		}
	}
	engine, err := sbx.New(sbx.Options{Backend: none.Name, PreviewKept: c.file.PreviewKeep})
	if err != nil {
		return
	}
	defer engine.Close()
	c.previews(engine)
	if dirs := engine.Abandoned(); len(dirs) > 0 {
		c.addMendable(levelNote, killed(dirs)+": "+strings.Join(shortened(dirs), ", "),
			"the next run that needs the place removes them", func() error { return engine.RemoveAbandoned() })
	}
	c.orphans(engine)
	if dirs := strays(); len(dirs) > 0 {
		c.addMendable(levelNote, killed(dirs)+" (sbx probe, sbx setup and the like): "+strings.Join(shortened(dirs), ", "), "rm -r takes them away", func() error {
			var errs []error
			for _, dir := range dirs {
				errs = append(errs, os.RemoveAll(dir))
			}
			return errors.Join(errs...)
		})
	}
	if c.live {
		c.containers(ctx)
	}
	switch {
	case len(c.findings) > before:
	case c.live:
		c.add(levelOK, "nothing", "")
	default:
		c.add(levelOK, "nothing (engines are asked for containers with --live)", "")
	}
}

func killed(dirs []string) string {
	return counted(len(dirs), "temp directory of a run that was", "temp directories of runs that were") + " killed"
}

// strayNames begin the names of directories that subcommands make for as long as
// they run.
var strayNames = [...]string{"sbx-probe-", "sbx-try-", "sbx-script-", "sbx-setup-", ".sbx-setup-"}

// strayAge is how long none of them runs.
const strayAge = 2 * time.Hour

// strays lists those that are the caller's own and that nobody uses any more.
func strays() []string {
	places := []string{os.TempDir(), "/var/tmp", "/dev/shm"}
	if cache, err := os.UserCacheDir(); err == nil {
		places = append(places, cache)
	}
	if home, err := os.UserHomeDir(); err == nil {
		places = append(places, home)
	}
	slices.Sort(places)
	var list []string
	for _, place := range slices.Compact(places) {
		entries, _ := os.ReadDir(place)
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && e.IsDir() && ownFile(info) && time.Since(info.ModTime()) > strayAge &&
				slices.ContainsFunc(strayNames[:], func(begin string) bool { return strings.HasPrefix(e.Name(), begin) }) {
				list = append(list, filepath.Join(place, e.Name()))
			}
		}
	}
	return list
}

// previews lists what is kept for later, and what was cut off.
func (c *doctorCall) previews(engine *sbx.Engine) {
	list, err := engine.Previews()
	if err != nil {
		c.add(levelWarning, "previews cannot be listed: "+err.Error(), "")
		return
	}
	for _, p := range list {
		if p.State == changes.Unfinish {
			c.add(levelWarning, "preview "+p.ID+" was being applied when sbx was cut off", "sbx preview apply "+p.ID+" goes on, sbx preview discard "+p.ID+" takes it back")
			continue
		}
		c.add(levelNote, fmt.Sprintf("preview %s is kept since %s", p.ID, p.Made.Format(time.DateTime)), "sbx preview show "+p.ID+", or sbx preview discard "+p.ID)
	}
}

// containers asks the backends that make them for those that nobody uses any more.
func (c *doctorCall) containers(ctx context.Context) {
	for _, name := range c.known.Names() {
		b, err := c.known.Lookup(name)
		if err != nil {
			continue
		}
		sweeper, ok := b.(sandbox.Sweeper)
		if !ok {
			continue
		}
		left, err := sweeper.Sweep(ctx, false)
		if err != nil || len(left) == 0 { // an engine that is not there has none
			continue
		}
		c.addMendable(levelWarning, fmt.Sprintf("%s of %s whose sbx is gone: %s", counted(len(left), "container", "containers"), name, strings.Join(shortened(left), ", ")),
			"the next command on "+name+" removes them", func() error {
				_, err := sweeper.Sweep(ctx, true)
				return err
			})
	}
}

// shortened is the beginning of a list that may be long.
func shortened(list []string) []string {
	const most = 5
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
}

// here is the directory that is looked at with --live.
func (c *doctorCall) here() (string, error) {
	if c.workspace != "" {
		return fromHere(c.workspace)
	}
	return os.Getwd()
}
