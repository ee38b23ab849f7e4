package main

import (
	"fmt"
	"os"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/secretsenv"
)

// settings gathers what holds for this run: flags over PEPE_SANDBOX_* over the
// configuration over the defaults. A configuration that cannot be read is an
// error: it may have said something that confines.
func (c *execCall) settings() (sbx.Options, error) {
	o := sbx.Options{
		Backend: c.backend, Workspace: c.workspace, AllowUnix: c.allowUnix, AllowUnparsed: c.allowUnparsed,
		Supervisor: true,
	}
	file, err := config.Load(os.Getenv)
	if err != nil {
		return o, err
	}
	o.Audit = file.Audit
	o.PreviewKept = file.PreviewKeep
	c.request.Preview = c.preview.request(file.PreviewSize)
	over, err := config.ReadOverrides(os.Getenv)
	if err != nil {
		return o, err
	}
	if o.Backend == "" {
		c.configuredBackend(&o, file)
	}
	if err := c.container(&o, file, over); err != nil {
		return o, err
	}
	o.Unenforced = unenforced(over, o.Backend)
	o.Secrets = secretsenv.Policy{References: file.References, Vault: file.VaultEnv, Expose: file.ExposeEnv}
	for _, paths := range [...]list{c.write, c.read, c.hide} {
		if err := paths.absolute(); err != nil {
			return o, err
		}
	}
	o.Write = append(file.AllowWrite, c.write...)
	o.Read = append(file.AllowRead, c.read...)
	o.Hide = append(file.Hide, c.hide...)
	o.Protect = append(file.Protect, c.protect.list...)
	o.Unprotect = append(file.Unprotect, c.unprotect...)
	o.ProtectStrict = file.ProtectStrict || c.protect.strict
	o.ReadOnly = file.ReadOnly || c.readOnly
	if file.Redact || c.redact {
		o.Redact = sbx.RedactAll
	}
	o.RedactValuesOnly = file.RedactOutput != nil && !*file.RedactOutput
	o.FreshTemp = file.Temp == "run"
	if c.temp.set {
		o.FreshTemp = c.temp.value == "run"
	}
	if !c.explain.set && file.Explain != "" {
		if err := c.explain.Set(file.Explain); err != nil {
			return o, err
		}
	}
	o.Explain = c.explain.value
	if o.AcceptGaps, err = acceptedGaps(file.AcceptGaps, c.accept, o.Backend); err != nil {
		return o, err
	}
	o.Tier, o.MinTier = string(c.tier), string(c.require)
	if len(file.Require) > 0 {
		more, err := controls("sbx.require", file.Require)
		if err != nil {
			return o, err
		}
		o.Required = append(sandbox.DefaultRequired(), more...)
	}
	if file.Timeout != nil && !c.timeout.set {
		c.timeout.value = *file.Timeout
	}
	if o.Workspace, err = c.workspaceOrHere(); err != nil {
		return o, err
	}
	var own config.WorkspaceFile // what the project says can only narrow
	if o.Workspace != "" {
		if own, err = config.ReadWorkspaceFile(o.Workspace); err != nil {
			return o, err
		}
	}
	o.Limits = c.limits.narrow(c.limits.over(file.Limits, over.Memory), own.Limits)
	if err := c.network(&o, over.Network, file, own); err != nil {
		return o, err
	}
	if err := c.gate(&o, file); err != nil {
		return o, err
	}
	o.GuardAllow, err = guardAllow(file, o.Workspace)
	return o, err
}

// cpusVar is a number of processors, which only containers are held to.
const cpusVar = "PEPE_SANDBOX_CPUS"

// unenforced names the limits that a runtime asked for and that the backend
// cannot give. Left unsaid they would be taken for done.
func unenforced(over config.Overrides, backend string) []string {
	if inContainers(backend) {
		over.CPUs = ""
	}
	var names []string
	for _, limit := range [...]struct{ name, value string }{{cpusVar, over.CPUs}} {
		if limit.value != "" {
			names = append(names, limit.name)
		}
	}
	return names
}

// workspaceOrHere is the directory of the call: a person's is the current one.
func (c *execCall) workspaceOrHere() (string, error) {
	switch {
	case c.wrapping:
		return os.Getenv(workspaceVar), nil
	case c.workspace != "":
		return fromHere(c.workspace)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", usage("find the current directory: "+err.Error(), "name the workspace with --workspace")
	}
	return here, nil
}

func controls(key string, names []string) ([]sandbox.Control, error) {
	var list []sandbox.Control
	for _, name := range names {
		control, err := gapName(name)
		if err != nil {
			return nil, fmt.Errorf("configuration %s %q: %w", key, name, err)
		}
		list = append(list, control)
	}
	return list, nil
}

// timeLimit is --timeout.
type timeLimit struct {
	value time.Duration
	set   bool
}

func (t *timeLimit) String() string { return t.value.String() }
func (t *timeLimit) Set(v string) (err error) {
	t.value, err = duration(v)
	t.set = err == nil
	return err
}
