// Package sbx runs shell commands that an agent, or any automation, wants to
// run: it reads the command, says what is risky about it, refuses the few that
// are never legitimate, takes the credentials out of the environment, and runs
// the rest confined to one directory.
package sbx

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/redact"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/protect"
	"github.com/sbx-run/sbx/secretsenv"
	"github.com/sbx-run/sbx/shell"
)

// Options hold for every command of an Engine. The zero value is the strict
// one: the strongest backend, no network, no gap accepted.
type Options struct {
	// Backend is a name in Registry. Empty, or Auto: the strongest that works here
	// for the profile, see package sandbox/choice. One that is named is never
	// replaced by another.
	Backend string
	// Order, with Backend empty or Auto, lists the backends that may be used: the
	// first that can hold the profile is.
	Order     []string
	Registry  *sandbox.Registry // nil: Backends()
	Workspace string            // for requests that name none

	Environ []string          // the caller's environment; nil: os.Environ()
	Secrets secretsenv.Policy // what is taken out of it

	Network sandbox.Network
	// NetworkRules are those of package netrules, for sandbox.NetworkRules.
	NetworkRules []string
	// NetworkAuto turns Network off for a command unless its tags contain
	// "network" and AllowTags does too.
	NetworkAuto bool
	AllowTags   []string // of commands, that NetworkAuto may rely on
	NetworkWhy  string   // why it is what it is, for the record; may be empty
	Proxy       string   // path of sbx-proxy; empty: beside this program

	Explain   sandbox.Explain // which denials are recorded, beside those on the network
	Write     []string        // further paths that may be written
	Read      []string        // paths that stay readable although they hold credentials
	Hide      []string        // further paths that may not be read
	AllowUnix bool            // sockets of the unix family may be made
	ReadOnly  bool            // the workspace may not be changed either

	// Protect lists further files of the workspace that stay as they are, and
	// Unprotect takes files out of the list of package sandbox/protect, with all
	// below; both absolute or relative to the workspace. ProtectStrict takes back
	// what appears, and requires the control hooks-protected.
	Protect, Unprotect []string
	ProtectStrict      bool

	// FreshTemp gives each run an empty temp directory, which is removed after it.
	// Otherwise it is kept between the commands of a workspace.
	FreshTemp bool

	Limits sandbox.Limits // of each command; wall time is Request.Timeout

	Required      []sandbox.Control // nil: sandbox.DefaultRequired
	AcceptGaps    []sandbox.Control // missing controls that do not refuse a run
	Tier          string            // the one tier of the backend to use; empty: the strongest
	MinTier       string            // the weakest tier of the backend that will do; empty: any
	AllowUnparsed bool              // run text that could not be read as a whole
	GuardAllow    []guard.Allow     // the owner's exceptions to guard's rules

	// Container is for backends that run commands in containers.
	Container sandbox.Container

	// Unenforced names what the caller asked for in words that this build has
	// no control for. It stands in each Result, so that it is not taken for done.
	Unenforced []string

	// Audit is the absolute path of a file to which the Result of each run is
	// appended as one line, without the words of the command. It must not lie
	// where commands can write. Empty: none.
	Audit string

	// Redact says from which output credentials are taken out, RedactValuesOnly that
	// only known values are, and nothing by its shape. What Resolver found is known.
	Redact           Redact
	RedactValuesOnly bool
	Resolver         *secretsenv.Resolver

	// PreviewKept is how long previews are kept for later; 0: PreviewKept.
	PreviewKept time.Duration

	// Gate decides which commands may run, and has people asked: see package
	// permit. nil: what guard does not refuse runs.
	Gate *permit.Gate

	// Errand says that another engine has judged the commands; nil: this one does.
	Errand *Errand

	// Supervisor says that this process exists for one run only: see
	// sandbox.Profile. An embedding program leaves it false.
	Supervisor bool
}

// Request is one command: Text, which the shell of Dialect runs, or Argv.
type Request struct {
	Text    string
	Dialect shell.Dialect
	Argv    []string

	Workspace string // the one directory that may change; empty: Options.Workspace
	Dir       string // where the command starts, at or below Workspace; empty: Workspace

	// Env is added after credentials were taken out: "NAME=value".
	Env []string
	// Keep lists variables of the caller's environment that stay, by name.
	Keep []string

	// Caller is who wants the command, and Authorize asks a person about it, both
	// for Options.Gate. nil: nobody can be asked. What is done in one run of an
	// agent shares a context of permit.Begin.
	Caller    permit.Caller
	Authorize Authorize
	// Approval is a person's consent, given while the command waited.
	Approval *permit.Approval

	// Preview keeps the workspace as it is; nil: the command changes it.
	Preview *Preview

	// As in sandbox.Command: an *os.File is handed over, anything else is
	// copied, nil is the null device.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	Timeout  time.Duration // wall time; 0: none
	Grace    time.Duration // between TERM and KILL; 0: 2 s
	Orphaned <-chan struct{}
	Signals  <-chan os.Signal
	// Ready, when it is set, is waited for before the command starts: what the
	// caller gets ready while the command is prepared.
	Ready <-chan struct{}
}

// Engine checks and runs commands. It is safe for concurrent use.
type Engine struct {
	options  Options
	backend  sandbox.Backend
	environ  environ
	home     string // of the caller
	user     string
	survey   func() *survey        // for commands that run as the caller; taken once
	usual    func() clean          // for commands that ask for no variable by name
	known    func() redact.Secrets // of the environment
	rules    netrules.Policy
	sessions sessions
	seen     protect.Memory
	told     told
}

// New makes an engine. An unknown backend is an error; nothing is started.
func New(o Options) (*Engine, error) {
	if o.Registry == nil {
		o.Registry = Backends()
	}
	if o.Backend == "" {
		o.Backend = Auto
	}
	if o.ProtectStrict {
		if o.Required == nil {
			o.Required = sandbox.DefaultRequired()
		}
		o.Required = append(slices.Clone(o.Required), sandbox.HooksProtected)
	}
	for i, a := range o.GuardAllow {
		if err := a.Check(); err != nil {
			return nil, fmt.Errorf("guard allow %d: %w", i, err)
		}
	}
	rules, err := o.networkRules()
	if err != nil {
		return nil, err
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	e := &Engine{options: o, environ: slices.Clone(o.Environ), rules: rules}
	e.home, e.user = e.caller()
	if e.backend, err = o.chosen(e.measurements()); err != nil {
		return nil, err
	}
	e.survey = sync.OnceValue(func() *survey { return e.surveyFor(nil) })
	e.usual = sync.OnceValue(func() clean { return e.clean(nil, e.home, nil) })
	e.known = sync.OnceValue(func() redact.Secrets { return redact.Prepare(credentials(e.environ, o.Secrets)) })
	return e, nil
}

// Close ends the sessions that are kept open between commands.
func (e *Engine) Close() error { return e.sessions.close() }

// Check reads a command and judges it. It is pure: no file is looked at.
func (e *Engine) Check(req Request) Report {
	workspace := cmp.Or(req.Workspace, e.options.Workspace)
	return CheckAllowing(req, shell.Where{Cwd: cmp.Or(req.Dir, workspace), Workspace: workspace, Home: e.home, User: e.user}, e.options.GuardAllow)
}

// Check reads a command as if it was started at w, and judges it. It is pure.
func Check(req Request, w shell.Where) Report { return CheckAllowing(req, w, nil) }

// CheckAllowing is Check with the owner's exceptions to guard's rules.
func CheckAllowing(req Request, w shell.Where, allow []guard.Allow) Report {
	var script *shell.Script
	if req.Argv != nil {
		script = shell.FromArgv(req.Argv, w)
	} else {
		script = shell.ParseAt(req.Text, req.Dialect, w)
	}
	return reportOn(script, allow)
}

// Run checks a command, and runs it when neither guard nor a missing control
// refuses it. A command that fails is a Result, not an error. With an error the
// Result says how far it came: after all but sandbox.ErrLost nothing ran.
func (e *Engine) Run(ctx context.Context, req Request) (Result, error) {
	job, err := e.admitAudited(ctx, req)
	defer job.close()
	if err == nil {
		err = job.start(ctx, req)
	}
	if job.begun {
		job.result.Redacted = job.scrubbers.close()
		job.lookAfter(err)
		job.apartHint()
		withoutOwn(job.result.Denials, job.own)
	}
	result := job.finish(err)
	if aerr := job.audit.append(result); aerr != nil {
		result.AuditError = oneLine(aerr.Error())
	}
	return result, err
}

// Plan says what Run would do, and runs nothing. It refuses what Run refuses, and
// asks nobody.
func (e *Engine) Plan(ctx context.Context, req Request) (Plan, error) {
	job, err := e.admit(ctx, req, e.foresee)
	defer job.close()
	if err == nil {
		err = job.equip(ctx, req)
	}
	plan := Plan{Record: job.result.Record}
	if err == nil {
		plan.Plan, err = job.session.Plan(job.command)
	}
	return plan, err
}

// admitAudited is admit, after the audit file was opened: also what is refused
// stands in there.
func (e *Engine) admitAudited(ctx context.Context, req Request) (*job, error) {
	audit, err := openAudit(e.options.Audit)
	if err != nil {
		return &job{engine: e, result: newResult(e.options)}, err
	}
	j, err := e.admit(ctx, req, e.pass)
	j.audit = audit
	return j, err
}

// admit reads the command and decides whether it may run, before anything is made
// for it. The workspace comes first: what a relative path means depends on it.
func (e *Engine) admit(ctx context.Context, req Request, may mayRun) (*job, error) {
	j := &job{engine: e, result: newResult(e.options)}
	if req.Argv == nil && req.Text == "" || len(req.Argv) > 0 && req.Text != "" || req.Argv != nil && len(req.Argv) == 0 {
		return j, &RequestError{Why: "no command: give either a text or a program"}
	}
	var err error
	if j.workspace, j.who, err = e.workspace(cmp.Or(req.Workspace, e.options.Workspace)); err != nil {
		return j, err
	}
	dir, err := dirIn(j.workspace, req.Dir)
	if err != nil {
		return j, err
	}
	user := e.user
	j.home = e.home
	if j.who != nil {
		j.home, user = j.who.Home, j.who.Name
	}

	report := CheckAllowing(req, shell.Where{Cwd: dir, Workspace: j.workspace, Home: j.home, User: user}, e.options.GuardAllow)
	argv := req.Argv
	if argv == nil {
		argv = interpreter(req.Dialect, req.Text)
	}
	j.handed = runtimeScript(argv, callerUID(), e.surroundingsOf(j.who).temps)
	if e.options.Errand == nil {
		report = report.follow(j.workspace, j.handed)
	}
	j.result.read(report, j.workspace)
	if err := e.refused(report); err != nil {
		return j, err
	}
	if e.options.Gate != nil {
		if j.result.Permission, err = may(ctx, req, report); err != nil {
			return j, err
		}
		if !report.standsStill(j.workspace, j.handed) {
			return j, &ChangedError{}
		}
	}
	j.script = report.Script
	j.net = e.networkFor(j.result.Tags)
	j.result.Network, j.result.NetworkWhy = j.net.setting(), j.net.why

	stdout, stderr, scrubbers, err := e.scrub(req)
	j.scrubbers = scrubbers
	j.command = sandbox.Command{
		Argv: argv, Dir: dir, Stdin: req.Stdin, Stdout: stdout, Stderr: stderr,
		Timeout: req.Timeout, Grace: req.Grace, Orphaned: req.Orphaned, Signals: req.Signals,
	}
	return j, err
}

// equip makes what a command that may run needs: private directories, an
// environment, a session of the backend.
func (j *job) equip(ctx context.Context, req Request) error {
	e, who := j.engine, j.who
	profile, err := e.profile(j.workspace, j.home, who, j.net)
	if err != nil {
		return err
	}
	if err := j.previewed(&profile, req.Preview, j.home); err != nil {
		return err
	}
	if j.handed != "" {
		profile.Read = append(profile.Read, j.handed)
	}
	if e.options.Errand == nil {
		err = j.protect(&profile)
	}
	if err != nil {
		return err
	}
	if j.private, err = e.openPrivate(j.workspace, who, append([]string{j.workspace}, profile.Write...)); err != nil {
		return err
	}
	if e.options.FreshTemp {
		if err := j.private.renew(who); err != nil {
			return fmt.Errorf("make a temp directory for the run: %w", err)
		}
	}
	profile.Private = sandbox.Private{Temp: j.private.temp(), Cache: j.private.cache()}
	if e.options.Errand != nil {
		who = e.options.Errand.adopt(&profile)
	}
	if way := profile.Egress; way != nil && e.backend.Name() != "none" {
		if way.Proxy, err = findProxy(e.options.Proxy, profile); err != nil {
			return err
		}
	}

	j.own = e.surroundingsOf(who).protected
	clean := e.cleaned(req.Keep, j.home, who)
	j.result.Removed = append([]string{}, clean.removed...)
	env := environment(clean.kept, surroundings{
		dir: j.command.Dir, workspace: j.workspace, home: j.home, callerHome: e.home, private: profile.Private, identity: who,
		goProxy: clean.goProxy, online: profile.Network != sandbox.NetworkNone, keep: clean.asked,
		hidden: func(file string) bool { return e.hides(file, profile.Read) },
	})
	given := req.Env
	if e.options.Errand != nil {
		given = override(&env, given)
	}
	j.command.Env = append(env, given...)
	j.profile = profile
	if j.session, err = e.sessions.get(ctx, e.backend, profile); err == nil {
		e.sessions.remember(j.hint(), j.session)
	}
	return err
}

// refused says why a command may not run; nil when it may.
func (e *Engine) refused(report Report) error {
	if e.options.Errand != nil {
		return nil
	}
	if refusals := report.Refusals(); len(refusals) > 0 {
		return &DeniedError{Refusals: refusals}
	}
	if why := report.Unread(); why != "" && !e.options.AllowUnparsed {
		return &UnparsedError{Why: why}
	}
	return nil
}

// interpreter is the command line of the shell that runs a text. The text
// stands after "--", so that one that begins with a dash is no option.
func interpreter(d shell.Dialect, text string) []string {
	name := "bash"
	switch d {
	case shell.POSIX, shell.Sh:
		name = "sh"
	case shell.Mksh:
		name = "mksh"
	case shell.Zsh:
		name = "zsh"
	}
	return []string{name, "-c", "--", text}
}
