//go:build unix

package probes

import (
	"context"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/none"
)

// none confines nothing: everything that the runner of other systems tries is
// open there, and named. A backend that says it holds what it does not is found.
func TestPortable(t *testing.T) {
	report, err := runPortable(context.Background(), none.New(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report.Summary())
	for _, o := range report.Outcomes {
		if o.Status == NotHeld {
			t.Errorf("%s %s: %s (%s)", o.ID, o.Try, o.Observed, o.Why)
		}
		if o.Status == Held && o.Want == "blocked" {
			t.Errorf("%s %s is held without a sandbox: %s", o.ID, o.Try, o.Observed)
		}
	}
	if report.Counts[GapNamed] < 50 || report.Counts[Held] < 10 {
		t.Errorf("only %v", report.Counts)
	}
	report, err = runPortable(context.Background(), boaster{none.New()}, Options{Dir: t.TempDir(), Only: []string{"P01", "N20"}})
	if err != nil || report.Counts[NotHeld] < 20 {
		t.Errorf("%v, %v", report.Counts, err)
	}
}

// boaster names no gap.
type boaster struct{ *none.Backend }

func (b boaster) Open(ctx context.Context, p sandbox.Profile) (sandbox.Session, error) {
	s, err := b.Backend.Open(ctx, p)
	return boasting{s}, err
}

type boasting struct{ sandbox.Session }

func (b boasting) Plan(c sandbox.Command) (sandbox.Plan, error) {
	p, err := b.Session.Plan(c)
	p.Gaps = nil
	return p, err
}
