package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
	wrapped "github.com/sbx-run/sbx/sandbox/command"
	"github.com/sbx-run/sbx/sandbox/helper"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

// engines are the backends that PEPE_SANDBOX_RUNTIME chooses between. The variable
// is another program's, and that one knows no others.
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
	c.shown = cmp.Or(o.Container.Image, sandbox.DefaultImage)
	if c.image != "" && slices.Contains(withoutImages[:], o.Backend) {
		return noImage(c.image, o.Backend)
	}
	if over.CPUs != "" {
		n, err := config.Processors(over.CPUs)
		if err != nil {
			return fmt.Errorf("read PEPE_SANDBOX_CPUS: %w, have %q", err, over.CPUs)
		}
		o.Container.CPUs = n
	}
	c.far.settle(&file.SSH, over)
	names := mayUse(o)
	known, err := registry(file, names...)
	if err != nil {
		return err
	}
	kept, err := c.sessionWanted()
	for _, name := range names {
		if err == nil && kept && inContainers(name) {
			known, err = warmed(known, name, c.request.Signals)
		}
	}
	o.Registry = known
	return err
}

func noImage(image, backend string) error {
	return usage("--image "+quote(image)+": the backend "+backend+" shows commands no image", "--backend docker, podman or containerd")
}

// withoutImages are the backends of which it is certain that they have none.
var withoutImages = [...]string{"direct", "bwrap", "firejail", "seatbelt", "none", ssh.Name}

// mayUse lists the backends that a run may come to, as far as they are named.
func mayUse(o *sbx.Options) []string {
	switch {
	case len(o.Order) > 0:
		return o.Order
	case o.Backend == sbx.Auto:
		return engines[:]
	}
	return []string{o.Backend}
}

// chooseEngine lets PEPE_SANDBOX_RUNTIME choose the engine where the file says that
// commands run in containers. --backend wins over it.
func (c *execCall) chooseEngine(o *sbx.Options, runtime string) error {
	if runtime == "" || c.backend != "" || !inContainers(o.Backend) {
		return nil
	}
	if !slices.Contains(engines[:], runtime) {
		return fmt.Errorf("read PEPE_SANDBOX_RUNTIME: want docker or podman, have %q", runtime)
	}
	o.Backend = runtime
	return nil
}

// inContainers says whether a backend keeps the settings of containers.
func inContainers(backend string) bool {
	return backend == "containerd" || slices.Contains(engines[:], backend)
}

// registry lists the backends of this build, those that the configuration names
// helpers for, and those that are asked for if they are wrappers, or if helpers for
// them are installed.
func registry(file config.Config, wanted ...string) (*sandbox.Registry, error) {
	r, helpers := sbx.Backends(), file.Helpers
	r.Put(ssh.New(sshOptions(file.SSH)))
	for _, name := range wanted {
		if path, ok := wrapped.Path(name); ok && !slices.Contains(r.Names(), name) {
			b, err := commandBackend(path, file.Wrappers)
			if err != nil {
				return nil, err
			}
			r.Add(b)
		}
	}
	have := r.Names()
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(have, name) })
	if len(helpers)+len(wanted) == 0 {
		return r, nil
	}
	named := sandbox.NewRegistry()
	for _, h := range helpers {
		switch {
		case !helper.Names(h.Name):
			return nil, fmt.Errorf("configuration sbx.helpers %q: a backend's name is made of small letters, digits and dashes", h.Name)
		case slices.Contains([]string{"direct", "bwrap", "firejail", "seatbelt", "none", ssh.Name}, h.Name):
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
	for _, name := range wanted {
		if helper.Names(name) && !slices.Contains(named.Names(), name) {
			if path, err := proc.Beside(helper.Prefix + name); err == nil {
				named.Add(helper.At(name, path))
			}
		}
	}
	return named, nil
}

// backendsHere is registry for subcommands that take no settings but the file.
func backendsHere(wanted ...string) (*sandbox.Registry, error) {
	file, err := config.Load(os.Getenv)
	if err != nil {
		return nil, err
	}
	over, err := config.ReadOverrides(os.Getenv)
	if err != nil {
		return nil, err
	}
	(&sshFlags{}).settle(&file.SSH, over)
	return registry(file, wanted...)
}
