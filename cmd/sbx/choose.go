package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
)

// configuredBackend is the backend, or the order of backends, that the
// configuration gives to who calls. Where it says nothing, the runtime's own wrapper
// is, and an image that was asked for by a flag asks for a container.
func (c *execCall) configuredBackend(o *sbx.Options, file config.Config) {
	names, key := file.For(c.agent, c.project)
	c.backendKey = key
	switch {
	case len(names) == 1:
		o.Backend = names[0]
	case len(names) > 1:
		o.Backend, o.Order = sbx.Auto, names
	case c.image != "":
		o.Backend, o.Order = sbx.Auto, engines[:]
	default:
		o.Backend = cmp.Or(runtimesWrapper(file.Sandbox), sbx.Auto)
	}
}

// newEngine is sbx.New, and says where an unknown backend is named.
func (c *execCall) newEngine(o sbx.Options) (*sbx.Engine, error) {
	engine, err := sbx.New(o)
	if errors.Is(err, sandbox.ErrUnavailable) && c.backendKey != "" {
		err = fmt.Errorf("configuration %s: %w", c.backendKey, err)
	}
	return engine, err
}

// apartRemark tells that a command that named no backend did not run among this
// host's own files.
func apartRemark(r sbx.Result) string {
	c := r.Choice
	if c == nil || !c.Apart || c.Asked != sbx.Auto || r.Ending == sandbox.NotStarted {
		return ""
	}
	return "it ran in a container of backend " + r.Backend + ": " + c.Why
}
