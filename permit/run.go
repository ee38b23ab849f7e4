package permit

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Run is one run of an agent: from a message to its answer, with all that is
// done on the way. It knows whether content from outside has entered, and what
// was granted until it ends. It goes with the context, so that nested and
// parallel work has it too. A nil *Run is one that nobody has begun: clean, and
// without grants. It is safe for concurrent use.
type Run struct {
	around *Run
	trusts bool

	mu     sync.Mutex
	outer  bool     // content from outside has entered
	ended  bool     // nothing is granted any more
	grants []string // see ThisRun
}

type runKey struct{}

// Begin begins a run. trusts is the agent's trust_untrusted_content: content from
// outside changes nothing for it. It must be ended.
//
// A run within another one has its own grants, and the content of both: what the
// outer one has read may have written the inner one's task.
func Begin(ctx context.Context, trusts bool) (context.Context, *Run) {
	r := &Run{around: RunOf(ctx), trusts: trusts}
	return context.WithValue(ctx, runKey{}, r), r
}

// RunOf is the run that a context belongs to; nil when there is none.
func RunOf(ctx context.Context) *Run {
	r, _ := ctx.Value(runKey{}).(*Run)
	return r
}

// End forgets what was granted for the run. Content that entered it has, by its
// answer, entered the run around it. Work that goes on after the end keeps the
// taint.
func (r *Run) End() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.ended, r.grants = true, nil
	outer := r.outer
	r.mu.Unlock()
	if outer {
		r.around.Taint()
	}
}

// Enter is how content from outside comes in: it cleans a text, wraps it in lines
// that name its source, and marks the run.
func (r *Run) Enter(source, text string) string {
	r.Taint()
	return Untrusted(source, text)
}

// Taint marks the run without a text: an attached document, a message of a
// webhook, a tool that was killed before it could say what it had read.
func (r *Run) Taint() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.outer = true
	r.mu.Unlock()
}

// Tainted says whether earlier answers count no longer.
func (r *Run) Tainted() bool { return r != nil && !r.trusts && r.holdsOuter() }

func (r *Run) holdsOuter() bool {
	for ; r != nil; r = r.around {
		r.mu.Lock()
		outer := r.outer
		r.mu.Unlock()
		if outer {
			return true
		}
	}
	return false
}

func (r *Run) granted() []string {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.grants)
}

func (r *Run) grant(grants []Grant) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.grants = MergeAll(r.grants, grants)
	}
}

// Taints says whether what a tool answers is content from outside.
func Taints(tool string) bool {
	return slices.Contains([]string{"fetch_url", "web_search", "delegate", "db_query"}, tool) || strings.HasPrefix(tool, "mcp__")
}
