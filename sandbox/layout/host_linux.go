package layout

import (
	"fmt"
	"path"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// Host is the terrain of one profile, looked at again for each run. It is safe
// for concurrent use.
type Host struct {
	// Exact are the profile's paths, as they were when it was opened. It does not
	// change.
	Exact map[string]Place

	profile sandbox.Profile
	mu      sync.Mutex
	masks   []Grant // what has to be hidden, as of stamps
	hidden  []string
	stamps  *Stamps
}

// OpenHost notes the paths of a profile. An error comes with sandbox.ErrStart:
// it is the profile, not the host.
func OpenHost(p sandbox.Profile) (*Host, error) {
	h := &Host{profile: p, Exact: map[string]Place{}}
	for _, name := range slices.Concat(Writable(p), Readable(p)) {
		if name == "" { // the profile of a trial
			continue
		}
		at, err := OpenPlace(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
		_ = unix.Close(at.FD)
		h.Exact[name] = at
	}
	for _, name := range p.Protect {
		at, err := ProtectedPlace(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
		h.Exact[name] = at
		if err := h.noteAbove(name); err != nil {
			return nil, fmt.Errorf("%w: %w", err, sandbox.ErrStart)
		}
	}
	return h, nil
}

// noteAbove notes the directories that are kept in place for what is protected.
// Another command may be at work in the workspace: one that it replaces by a link
// for a moment would be the way to a writable directory outside.
func (h *Host) noteAbove(name string) error {
	root := rootOf(h.profile, name)
	for above := path.Dir(name); IsBelow(above, root) && above != root; above = path.Dir(above) {
		if _, ok := h.Exact[above]; ok {
			return nil // with all above it
		}
		at, err := OpenPlace(above)
		if err != nil {
			return err
		}
		_ = unix.Close(at.FD)
		h.Exact[above] = at
	}
	return nil
}

// Look looks at the host: the spots of this run, what is hidden, and the links
// that are made again in /run. terminal is the device of the caller's terminal,
// if any.
func (h *Host) Look(terminal string) (spots []Spot, hidden []string, links []Link) {
	h.mu.Lock()
	if h.stamps == nil || !h.stamps.Unchanged() {
		c, stamps := Survey(h.profile)
		h.masks, h.hidden, h.stamps = c.Masks, c.Hidden, stamps
	}
	masks, hidden := h.masks, h.hidden
	h.mu.Unlock()
	t := Terrain{Masks: masks, Resolver: ResolverFile(h.profile), Terminal: terminal, IsDir: h.isDir}
	if h.profile.UnixAllow {
		return Of(h.profile, t), hidden, nil
	}
	own := Writable(h.profile)
	covered := func(name string) bool {
		return IsBelow(name, "/run") || IsBelow(name, "/tmp") || IsBelow(name, "/dev") || slices.Contains(own, name)
	}
	t.Sockets = BoundSockets(covered)
	if table, _ := hostMounts.now(); table.twice != nil {
		t.Daemons = table.names(socketPlaces(), false)
		for _, name := range table.names(BoundSockets(func(string) bool { return false }), false) {
			if !covered(name) && isSocket(name) {
				t.Sockets = append(t.Sockets, name)
			}
		}
	}
	return Of(h.profile, t), hidden, LinksIn("/run")
}

func (h *Host) isDir(name string) bool {
	if p, ok := h.Exact[name]; ok {
		return p.Dir
	}
	return IsRealDir(name)
}
