package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sbx-run/sbx/words"
)

// Registry holds backends by name. Nothing registers itself: the list is one
// visible function in the root package.
type Registry struct {
	mu       sync.RWMutex
	backends []Backend // in the order they were added
}

// NewRegistry returns an empty registry. It is safe for concurrent use.
func NewRegistry() *Registry { return &Registry{} }

// Add appends a backend. A second one of the same name is a programming error
// and panics.
func (r *Registry) Add(b Backend) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, have := range r.backends {
		if have.Name() == b.Name() {
			panic("sandbox: backend " + b.Name() + " added twice")
		}
	}
	r.backends = append(r.backends, b)
}

// Put adds a backend, in the place of the one with its name if there is one.
func (r *Registry) Put(b Backend) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, have := range r.backends {
		if have.Name() == b.Name() {
			r.backends[i] = b
			return
		}
	}
	r.backends = append(r.backends, b)
}

// Lookup finds a backend by its exact name. An unknown name is an error that
// lists the known ones and the one that may have been meant; there is no fallback.
func (r *Registry) Lookup(name string) (Backend, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, b := range r.backends {
		if b.Name() == name {
			return b, nil
		}
	}
	hint := ""
	if near := words.Nearest(name, r.offered()); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return nil, fmt.Errorf("no backend %q%s (have: %s): %w", name, hint, strings.Join(r.names(), ", "), ErrUnavailable)
}

// Offered lists the names that may be proposed to who asked for another: without those
// that are used only by who names them.
func (r *Registry) Offered() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.offered()
}

func (r *Registry) offered() (names []string) {
	for _, b := range r.backends {
		if only, ok := b.(OnlyNamed); !ok || !only.OnlyNamed() {
			names = append(names, b.Name())
		}
	}
	return names
}

// Names lists the backends in the order they were added.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.names()
}

func (r *Registry) names() []string {
	names := make([]string, 0, len(r.backends))
	for _, b := range r.backends {
		names = append(names, b.Name())
	}
	return names
}

// GapError refuses a run because required controls are missing here.
type GapError struct {
	Backend string
	Gaps    []Gap // only those that are required and not accepted
}

func (e *GapError) Error() string {
	var b strings.Builder
	b.WriteString("backend " + e.Backend + " cannot give ")
	for i, g := range e.Gaps {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(string(g.Control) + ": " + g.Why)
	}
	return b.String()
}

// Unwrap makes errors.Is(err, ErrUnavailable) true.
func (e *GapError) Unwrap() error { return ErrUnavailable }

// Judge marks each gap as required or accepted under the profile, and returns
// a *GapError when a required one was not accepted. A limit that was asked for
// is required.
func (p Profile) Judge(backend string, gaps []Gap) ([]Gap, error) {
	required := p.Required
	if required == nil {
		required = DefaultRequired()
	}
	asked := p.Limits.Asked()
	judged := slices.Clone(gaps)
	var missing []Gap
	for i := range judged {
		g := &judged[i]
		g.Required = slices.Contains(required, g.Control) || slices.Contains(asked, g.Control) || g.Control == RulesHeld && p.Network == NetworkRules
		g.Accepted = slices.Contains(p.Accept, g.Control)
		if g.Required && !g.Accepted {
			missing = append(missing, *g)
		}
	}
	if len(missing) > 0 {
		return judged, &GapError{Backend: backend, Gaps: missing}
	}
	return judged, nil
}
