package permit

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Confirm is SafePolicy: tools that destroy something need the permission
// confirm:TOOL. permissions are those of the principal behind the call.
func Confirm(destroys func(tool string) bool, permissions func(Context) []string) Policy {
	return policyFunc{"confirm", func(c Call, where Context) Opinion {
		if !destroys(c.Tool) || slices.Contains(permissions(where), "confirm:"+c.Tool) {
			return NoObjection
		}
		return Opinion{Reason: "it needs the permission confirm:" + c.Tool}
	}}
}

// RequireToolPermission refuses tools without the permission tool:NAME.
func RequireToolPermission(permissions func(Context) []string) Policy {
	return policyFunc{"tool-permission", func(c Call, where Context) Opinion {
		if slices.Contains(permissions(where), "tool:"+c.Tool) {
			return NoObjection
		}
		return Opinion{Reason: "it needs the permission tool:" + c.Tool}
	}}
}

type policyFunc struct {
	name  string
	check func(Call, Context) Opinion
}

func (p policyFunc) Name() string                                           { return p.name }
func (p policyFunc) Check(_ context.Context, c Call, where Context) Opinion { return p.check(c, where) }

// rateWindows bounds the principals that are counted at a time.
const rateWindows = 4096

// RateLimit allows a principal so many calls in a fixed window of time. It is
// safe for concurrent use.
type RateLimit struct {
	Calls  int
	Window time.Duration
	Now    func() time.Time // nil: time.Now

	mu      sync.Mutex
	windows map[string]rateWindow
}

type rateWindow struct {
	began time.Time
	calls int
}

// Name is "rate-limit".
func (*RateLimit) Name() string { return "rate-limit" }

// Check counts a call of the principal: the agent and its session.
func (r *RateLimit) Check(_ context.Context, _ Call, where Context) Opinion {
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	at, who := now(), where.Agent+"\x00"+where.Session
	r.mu.Lock()
	defer r.mu.Unlock()
	w, known := r.windows[who]
	if age := at.Sub(w.began); !known || age >= r.Window || age < 0 { // a clock that was set back begins anew
		w = rateWindow{began: at}
	}
	if w.calls >= r.Calls {
		return Opinion{Reason: "the limit of " + strconv.Itoa(r.Calls) + " calls in " + r.Window.String() + " is reached; it goes on in " +
			max(0, w.began.Add(r.Window).Sub(at)).Round(time.Second).String()}
	}
	if !known && len(r.windows) >= rateWindows && !r.forget(at) {
		return Opinion{Reason: "more than " + strconv.Itoa(rateWindows) + " principals are counted already"}
	}
	if r.windows == nil {
		r.windows = map[string]rateWindow{}
	}
	w.calls++
	r.windows[who] = w
	return NoObjection
}

// forget drops windows that are over, and says whether there is room now.
func (r *RateLimit) forget(at time.Time) bool {
	for who, w := range r.windows {
		if at.Sub(w.began) >= r.Window {
			delete(r.windows, who)
		}
	}
	return len(r.windows) < rateWindows
}
