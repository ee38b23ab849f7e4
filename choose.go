package sbx

import (
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/choice"
)

// Auto is the backend that chooses: see package sandbox/choice.
const Auto = choice.Name

// chosen is the backend that the options name, or the one that chooses.
func (o Options) chosen(store *choice.Store) (sandbox.Backend, error) {
	name := o.Backend
	if len(o.Order) == 1 && name == Auto {
		name = o.Order[0] // no other may take its place, so nothing is chosen
	}
	if name == Auto {
		return choice.New(o.Registry, o.Order, store)
	}
	return o.Registry.Lookup(name)
}

// Measurements is where the capabilities of backends are remembered that were
// measured for a caller with this environment. Where the caller has no directory
// of its own nothing is remembered.
func Measurements(environ []string) *choice.Store {
	e := &Engine{environ: environ}
	e.home, e.user = e.caller()
	return e.measurements()
}

func (e *Engine) measurements() *choice.Store {
	return choice.NewStore(func() string {
		for _, base := range e.privateBases(nil) {
			if base.parent || base.prefix != "" { // not the temp directory of all users
				return filepath.Join(base.path, base.prefix+"measured")
			}
		}
		return ""
	}, e.environ.get)
}

// apartHint says where a command ran that was not found there, when nobody asked
// for that place.
func (j *job) apartHint() {
	c := j.result.Choice
	if c == nil || !c.Apart || len(j.engine.options.Order) > 0 || j.result.Ending != sandbox.NotFound {
		return
	}
	image := j.engine.options.Container.Image
	if image == "" {
		image = sandbox.DefaultImage
	}
	j.result.Hints = append(j.result.Hints, strings.Join([]string{
		"it was looked for in the image " + image + " of backend " + j.result.Backend, c.Why, "--image names another",
	}, "; "))
}
