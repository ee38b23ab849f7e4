package sbx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/sbx-run/sbx/permit"
)

// Authorize asks a person whether a command may run. An error says that nobody
// has answered. It must heed ctx, which ends when the time for an answer is over.
type Authorize func(context.Context, Question) (permit.Reply, error)

// Question is what a person is asked, with the reading of the command. Its texts
// are as the caller wrote them, control characters and all.
type Question struct {
	permit.Question
	Report    Report
	Workspace string
}

// mayRun decides on a command that guard lets through.
type mayRun func(context.Context, Request, Report) (*permit.Passage, error)

// pass has the gate decide, and a person where that is due.
func (e *Engine) pass(ctx context.Context, req Request, r Report) (*permit.Passage, error) {
	if req.Approval != nil {
		p, err := e.options.Gate.PassApproved(ctx, r.Call(), req.Caller, *req.Approval)
		return &p, err
	}
	var ask permit.Authorize
	if req.Authorize != nil {
		ask = func(ctx context.Context, q permit.Question) (permit.Reply, error) {
			return req.Authorize(ctx, Question{Question: q, Report: r, Workspace: r.Script.Where.Workspace})
		}
	}
	p, err := e.options.Gate.Pass(ctx, r.Call(), req.Caller, ask)
	return &p, err
}

// Call is the command for a permit.Gate and its policies, with what its scripts
// run where they were read: see Follow.
func (r Report) Call() permit.Call {
	c := r.reading(permit.Command(r.Script, r.Tags))
	if texts := r.texts(nil); len(texts) > 0 {
		h := sha256.New()
		for _, text := range texts {
			fmt.Fprintf(h, "%d:%s", len(text), text)
		}
		c.Scripts = hex.EncodeToString(h.Sum(nil))
	}
	return c
}

func (r Report) reading(c permit.Call) permit.Call {
	for _, f := range r.Followed {
		if f.Report.Script != nil {
			c = f.Report.reading(c.Reading(f.Report.Script))
		}
	}
	return c
}

// foresee is pass without a person.
func (e *Engine) foresee(ctx context.Context, req Request, r Report) (*permit.Passage, error) {
	if req.Approval != nil {
		rehearsal := *req.Approval
		rehearsal.Always = false
		p, err := e.options.Gate.PassApproved(ctx, r.Call(), req.Caller, rehearsal)
		return &p, err
	}
	p, err := e.options.Gate.Foresee(ctx, r.Call(), req.Caller, req.Authorize != nil)
	return &p, err
}

// standsStill says whether the scripts that were read are still what they were:
// while a person thinks, somebody may write them anew.
func (r Report) standsStill(workspace, handed string) bool {
	if len(r.Followed) == 0 {
		return true
	}
	again := reportOn(r.Script, r.allow).follow(workspace, handed)
	return slices.Equal(again.texts(nil), r.texts(nil))
}

// texts lists the scripts that were read, with their paths.
func (r Report) texts(list []string) []string {
	for _, f := range r.Followed {
		list = append(list, f.Path, f.Skipped)
		if f.Report.Script != nil {
			list = append(list, f.Report.Script.Text)
		}
		list = f.Report.texts(list)
	}
	return list
}
