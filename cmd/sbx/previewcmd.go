package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/changes"
	"github.com/sbx-run/sbx/config"
)

const previewHelp = `sbx preview: what previewed commands would change, kept for later.

  sbx exec --preview --later -- npm audit fix    keeps a preview
  sbx preview ls                                 lists what is kept
  sbx preview show p123 --diff                   what would change, line by line
  sbx preview apply p123                         makes it so, or nothing of it
  sbx preview discard p123

A preview that is not applied goes away after a week (sbx.preview.keep in the
configuration). Apply refuses when something that it touches was changed since. An
apply that was cut off stays in the list: apply goes on, discard takes it back.

Exit status: 0; 1 refused for a conflict, and nothing was changed; 2 usage; 125
could not.

  --diff    with show: the text changes
  --json    with ls and show: print objects
`

// exitConflict is the status of an apply that would overwrite something.
const exitConflict = 1

// previewCommand is sbx preview.
func previewCommand(s *streams, args []string) int {
	f := newFlags("preview")
	diff := f.Bool("diff", false, "")
	asJSON := f.Bool("json", false, "")
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		s.help(previewHelp)
		return exitOK
	}
	words := append(f.operands, f.after...)
	verb, id := "", ""
	if err == nil {
		verb, id, err = previewWords(words)
	}
	if err == nil && *diff && verb != "show" {
		err = usage("--diff is for show", "sbx preview show ID --diff")
	}
	if err == nil && *asJSON && verb != "show" && verb != "ls" {
		err = usage("--json is for ls and show", "")
	}
	if err == nil && *asJSON && *diff {
		err = usage("--json and --diff: want one of them", "")
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	engine, err := previewEngine()
	if err == nil {
		defer engine.Close()
		err = s.preview(engine, verb, id, *diff, *asJSON)
	}
	return s.previewStatus(err)
}

func (s *streams) previewStatus(err error) int {
	var conflict *changes.ConflictError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &conflict):
		s.conflicts(conflict.Conflicts)
		s.say("refused", err.Error())
		s.say("hint", "nothing was changed; run the command again, or sbx preview discard")
		return exitConflict
	case errors.Is(err, changes.ErrNoPreview):
		s.fail(&hintedError{msg: err.Error(), hint: "sbx preview ls lists what is kept"})
		return exitUsage
	}
	s.fail(err)
	return exitNotStarted
}

func previewWords(words []string) (verb, id string, err error) {
	const how = "sbx preview ls, or sbx preview show|apply|discard ID"
	if len(words) == 0 {
		return "", "", usage("no action", how)
	}
	verb = words[0]
	wanted := 2
	switch verb {
	case "ls":
		wanted = 1
	case "show", "apply", "discard":
	default:
		return "", "", unknownAction("preview", verb, how)
	}
	switch {
	case len(words) < wanted:
		return "", "", usage("no preview is named", "sbx preview "+verb+" ID; sbx preview ls lists them")
	case len(words) > wanted:
		return "", "", usage("more operands than expected", how)
	case wanted == 2:
		id = words[1]
	}
	return verb, id, nil
}

// previewEngine knows the configuration and runs nothing.
func previewEngine() (*sbx.Engine, error) {
	file, err := config.Load(os.Getenv)
	if err != nil {
		return nil, err
	}
	return sbx.New(sbx.Options{
		PreviewKept: file.PreviewKeep,
		Protect:     file.Protect, Unprotect: file.Unprotect, ProtectStrict: file.ProtectStrict,
	})
}

func (s *streams) preview(engine *sbx.Engine, verb, id string, diff, asJSON bool) error {
	if verb == "ls" {
		return s.previews(engine, asJSON)
	}
	c, err := engine.OpenPreview(id)
	if err != nil {
		return err
	}
	defer c.Close()
	switch verb {
	case "apply":
		trust, err := engine.Apply(c)
		if err != nil {
			return err
		}
		s.say("preview", "applied")
		if isNews(trust) {
			s.sayTrust(trust, c.Roots[0], "")
		}
		return nil
	case "discard":
		if err = c.Discard(); err == nil {
			s.say("preview", "discarded")
		}
		return err
	}
	if asJSON {
		return writeJSON(s.out, c.All())
	}
	p := newChangeList(s.out)
	return s.paged(s.out, c.Roots, func(w io.Writer) error {
		p.out = w
		p.summary(c)
		if c.State == changes.Unfinish {
			fmt.Fprintln(w, s.named("sbx: preview: an apply was cut off: sbx preview apply goes on, discard takes it back"))
		}
		p.list(c, 0)
		if !diff {
			return nil
		}
		return p.diffs(w, c)
	})
}

// previews lists what is kept.
func (s *streams) previews(engine *sbx.Engine, asJSON bool) error {
	list, err := engine.Previews()
	if err != nil {
		return err
	}
	if asJSON {
		if list == nil {
			list = []changes.Stored{}
		}
		return writeJSON(s.out, list)
	}
	for _, p := range list {
		t := p.Totals
		state := ""
		if p.State == changes.Unfinish {
			state = "  half applied"
		}
		where := ""
		if len(p.Roots) > 0 {
			where = p.Roots[0]
		}
		fmt.Fprintf(s.out, "%s  %s  +%d ~%d -%d =%d%s  %s  %s\n", p.ID, p.Made.Local().Format(time.DateTime),
			t.Created, t.Changed, t.Deleted, t.Metadata, state, visible(where), visible(clip(p.Command, 60)))
	}
	return nil
}
