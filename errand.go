package sbx

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	places "github.com/sbx-run/sbx/sandbox/credentials"
)

// Errand says that the engine of another machine has read and judged every
// command, and asks this one to run it: nothing is judged a second time, and
// Request.Env wins over what this engine would set.
type Errand struct {
	// Protect lists what stays as it is, in place of what this engine would look
	// for: the other one looks at the files before and after.
	Protect []string
	// Identity is who the command runs as, where both machines have the same
	// users; nil: as this engine decides.
	Identity *sandbox.Identity
	// Private are directories that both machines share; nil: this engine's own.
	Private *sandbox.Private
	// Home is where credentials are looked for as well; empty: nowhere else.
	Home string
}

// adopt puts what the other engine wants into a profile and returns who the
// command runs as.
func (r *Errand) adopt(p *sandbox.Profile) *sandbox.Identity {
	if r.Identity != nil {
		p.Identity = r.Identity
	}
	p.Protect = nil
	for _, path := range r.Protect {
		if _, err := os.Lstat(path); err == nil {
			p.Protect = append(p.Protect, path)
		}
	}
	if r.Private != nil {
		p.Private = *r.Private
	}
	if r.Home != "" && r.Home != p.Home {
		p.Hide = append(p.Hide, credentialsIn(p.Home)...)
		p.Home = r.Home
	}
	return p.Identity
}

// credentialsIn lists the places with credentials that a home directory has.
func credentialsIn(home string) []string {
	if home == "" {
		return nil
	}
	var list []string
	for _, place := range places.Home() {
		dir, pattern := filepath.Split(filepath.Join(home, place.Path))
		if !strings.Contains(pattern, "*") {
			if _, err := os.Lstat(dir + pattern); err == nil {
				list = append(list, dir+pattern)
			}
			continue
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if is, _ := filepath.Match(pattern, e.Name()); is {
				list = append(list, dir+e.Name())
			}
		}
	}
	return list
}

// override sets the variables that are there and returns the others.
func override(env *environ, entries []string) (rest []string) {
	for _, kv := range entries {
		name, value, _ := strings.Cut(kv, "=")
		if env.index(name) >= 0 {
			env.set(name, value)
		} else {
			rest = append(rest, kv)
		}
	}
	return rest
}
