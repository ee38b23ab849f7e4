package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
	wrapped "github.com/sbx-run/sbx/sandbox/command"
	"github.com/sbx-run/sbx/sandbox/helper"
)

// engines are the backends that PEPE_SANDBOX_RUNTIME chooses between.
var engines = [...]string{"docker", "podman"}

// container settles which backend runs the command and, if it does so in a
// container, in which.
func (c *execCall) container(o *sbx.Options, file config.Config, over config.Overrides) error {
	if err := c.chooseEngine(o, over.Runtime); err != nil {
		return err
	}
	f := file.Container
	o.Container = sandbox.Container{
		Image: f.Image, CPUs: f.CPUs, Runtime: f.Runtime, Host: f.Host, Local: f.Local, Options: f.Options, NoPull: f.NoPull,
	}
	for _, image := range [...]string{over.Image, c.image} {
		if image != "" {
			o.Container.Image = image
		}
	}
	if over.CPUs != "" {
		n, err := config.Processors(over.CPUs)
		if err != nil {
			return fmt.Errorf("read PEPE_SANDBOX_CPUS: %w, have %q", err, over.CPUs)
		}
		o.Container.CPUs = n
	}
	known, err := registry(file, o.Backend)
	if err != nil {
		return err
	}
	kept, err := c.sessionWanted()
	if err == nil && kept && inContainers(o.Backend) {
		known, err = warmed(known, o.Backend)
	}
	o.Registry = known
	return err
}

// chooseEngine lets PEPE_SANDBOX_RUNTIME choose the engine where the file says that
// commands run in containers. --backend wins over it.
func (c *execCall) chooseEngine(o *sbx.Options, runtime string) error {
	if runtime == "" || c.backend != "" || !slices.Contains(engines[:], o.Backend) {
		return nil
	}
	if !slices.Contains(engines[:], runtime) {
		return fmt.Errorf("read PEPE_SANDBOX_RUNTIME: want docker or podman, have %q", runtime)
	}
	o.Backend = runtime
	return nil
}

// inContainers says whether a backend keeps the settings of containers.
func inContainers(backend string) bool { return slices.Contains(engines[:], backend) }

// registry lists the backends of this build, those that the configuration names
// helpers for, and the one that is asked for if it is a wrapper or a helper for it
// is installed.
func registry(file config.Config, wanted string) (*sandbox.Registry, error) {
	r, helpers := sbx.Backends(), file.Helpers
	if path, ok := wrapped.Path(wanted); ok {
		b, err := commandBackend(path, file.Wrappers)
		if err != nil {
			return nil, err
		}
		r.Add(b)
	}
	if len(helpers) == 0 && (wanted == "" || slices.Contains(r.Names(), wanted)) {
		return r, nil
	}
	named := sandbox.NewRegistry()
	for _, h := range helpers {
		switch {
		case !helper.Names(h.Name):
			return nil, fmt.Errorf("configuration sbx.helpers %q: a backend's name is made of small letters, digits and dashes", h.Name)
		case h.Name == "direct" || h.Name == "none":
			return nil, fmt.Errorf("configuration sbx.helpers %q: this backend has no helper", h.Name)
		}
		named.Add(helper.At(h.Name, h.Path))
	}
	for _, name := range r.Names() {
		if slices.Contains(named.Names(), name) {
			continue
		}
		b, err := r.Lookup(name)
		if err != nil {
			return nil, err
		}
		named.Add(b)
	}
	if helper.Names(wanted) && !slices.Contains(named.Names(), wanted) {
		if path, err := helper.Find(wanted); err == nil {
			named.Add(helper.At(wanted, path))
		}
	}
	return named, nil
}

// backendsHere is registry for subcommands that take no settings but the file.
func backendsHere(wanted string) (*sandbox.Registry, error) {
	file, err := config.Load(os.Getenv)
	if err != nil {
		return nil, err
	}
	return registry(file, wanted)
}
