package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/approvals"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

const execHelp = `sbx exec: run a program confined to one directory. No shell is added.

  sbx exec -- make test                          in this directory
  sbx exec --workspace ~/src/app -- npm ci
  sbx exec --network allow:go -- go mod download with what go needs, and no more
  sbx exec --timeout 5m -- pytest -q             124 when the time is over
  sbx exec --memory 2g --processes 256 -- make -j8
  sbx exec --allow-write /srv/cache -- ./build
  sbx exec --unprotect .git/config -- git remote add o https://example.com/r.git
  sbx exec --read-only -- ./lint
  sbx exec --dry-run -- ls                       what would be done, as JSON
  sbx exec --preview --diff -- npm audit fix     what would it change? then ask
  sbx exec --result r.json -- make               what was done, as JSON

Exit status: the program's own; 124 time limit; 137 another limit; 125 not started; 126 refused, or
not executable; 127 not found; 128+n signal n.
` + confineHelp

const runHelp = `sbx run: run a line of shell (bash) confined to one directory.

  sbx run 'make && ./app --version'
  sbx run --network allow:example.com 'curl -s https://example.com | wc -c'
  sbx run --shell sh 'echo $0'                   sh, mksh or zsh instead of bash

Exit status: as for sbx exec --help.
` + confineHelp

const confineHelp = `
  --workspace DIR     the one directory that may change (default: here)
  --cwd DIR           where it starts, in the workspace (default: its top)
  --backend NAME      auto (default): the strongest that works here; or the name of one (sbx doctor
                      lists them; none: no isolation at all; command:PATH: a wrapper script of
                      your own), and never another in its place
  --ssh-host HOST     the machine of the backend ssh, as ssh names it
  --ssh-workspace WAY sync (default): changes are carried there and back; shared: the same path there
  --image IMAGE       the container's image (default: python:3.12-slim)
  --session auto|off  keep the container for the next command (sbx session --help)
  --network WHAT      off (default), on, auto, or allow:HOST,… (sbx network --help); --net too
  --allow-tag network let --network auto open the network to commands with this tag
  --timeout TIME      90s, 5m; a bare number is seconds
  --memory SIZE       512m, 2g: all that the command and what it starts hold at a time
  --processes N       processes and threads at a time
  --cpu-time TIME     processor time of all together
  --file-size SIZE    of any one file that is written
  --disk SIZE         written to disk in total, also what is deleted again
  --temp-size SIZE    the temp directories, in memory then and gone after the run
  --output SIZE       of each output stream; the rest is counted and thrown away
  --output-over WORD  truncate (default), or kill: more output ends the command
  --allow-write PATH  may be written too; again for more
  --allow-read PATH   stays readable although it holds credentials
  --hide PATH         cannot be read
  --read-only         the workspace may not be changed either
  --redact            take credentials out of the output: what the environment holds, also encoded,
                      and what looks like one; the command sees a pipe, not a terminal
  --protect PATH      stays as it is, as .git/config, hooks and settings of agents do
  --protect strict    also remove what of these appears, and refuse where they are open
  --unprotect PATH    may be changed although it is on that list
  --temp run          an empty temp directory for this run (default: keep)
  --env NAME          let this variable through although it looks like a credential
  --allow-unix        sockets of the unix family may be made
  --allow-unparsed    run text that could not be read as a whole
  --tier TIER         use this tier only (full, landlock): landlock starts faster, full holds more
  --require TIER      refuse where the backend gives a weaker tier (full, landlock)
  --accept-gap NAME   run although this control is missing here; all: command:PATH and ssh only
  --preview[=home]    write beside the workspace (and home), show what would change, ask
  --diff              with --preview: show the text changes
  --apply, --discard  with --preview: decide without asking; --apply if it succeeds
  --later             with --preview: keep it for sbx preview
  --preview-size SIZE with --preview: room for what is written (default: 1g)
  --explain-denials   tell what was refused to be written, deleted, renamed or changed, or connected
                      to without the proxy, and which flag would allow it; --explain-denials=reads
                      also what was hidden, which slows down every opening of a file
  --result FD|FILE    write the result as JSON to a descriptor or file
  --dry-run           print the plan as JSON, run nothing
  --agent NAME        who calls, for what the configuration says of agents (SBX_AGENT)
  --project NAME      likewise (SBX_PROJECT)
  --ask[=TIME|off]    ask on the terminal before what was never permitted runs; where there is
                      none only what was granted runs (sbx grants --help); TIME to answer (5m)
  --tainted           content from outside has entered the run: earlier grants do not count
  --no-park           refuse what nobody can be asked about, instead of keeping it for sbx approvals
  --die-with-parent   end when the caller or the reader of the output is gone
`

// execCall is a call of sbx exec, sbx run or the wrapper.
type execCall struct {
	flags
	workspace, backend string
	agent, project     string
	backendKey         string // where the configuration names the backend
	image              string
	shown              string // the image of containers, wherever it was named
	far                sshFlags
	session            choice
	cwd                string
	result             string
	tier, require      tierName
	net                networkWord
	allowTags          list
	timeout            timeLimit
	limits             limitFlags
	write, read, hide  list
	protect            protectList
	unprotect          list
	temp               choice
	readOnly           bool
	redact             bool
	env                variableNames
	accept             gapNames
	explain            explainFlag
	allowUnix          bool
	allowUnparsed      bool
	dryRun             bool
	dieWithParent      bool
	preview            previewCall
	permission         gateCall

	verb       string   // of the command line
	args       []string // behind it
	agentKnown bool     // to the configuration
	// Of a call that waited: claim decides, for all processes, that it runs now;
	// ended notes what became of it.
	claim func() error
	ended func(sbx.Result, int)

	trusts   bool        // the agent takes content from outside for its own
	gated    bool        // there is a gate
	asks     bool        // and it needs permission, not policies alone
	engine   *sbx.Engine // of a call that was understood
	wrapping bool        // a runtime calls, not a person
	request  sbx.Request
}

func newExecCall(name string) *execCall {
	c := &execCall{flags: *newFlags(name), temp: choice{words: []string{"run", "keep"}}, session: choice{words: []string{sessionAuto, "off"}}}
	c.StringVar(&c.workspace, "workspace", "", "")
	c.StringVar(&c.cwd, "cwd", "", "")
	c.StringVar(&c.backend, "backend", "", "")
	c.StringVar(&c.agent, "agent", os.Getenv(agentVar), "")
	c.StringVar(&c.project, "project", os.Getenv(projectVar), "")
	c.StringVar(&c.image, "image", "", "")
	c.far.declare(&c.flags)
	c.Var(&c.session, "session", "")
	c.StringVar(&c.result, "result", "", "")
	c.Var(&c.net, "network", "")
	c.Var(&c.net, "net", "")
	c.Var(&c.allowTags, "allow-tag", "")
	c.Var(&c.timeout, "timeout", "")
	c.limits.declare(&c.flags)
	c.Var(&c.write, "allow-write", "")
	c.Var(&c.read, "allow-read", "")
	c.Var(&c.hide, "hide", "")
	c.Var(&c.protect, "protect", "")
	c.Var(&c.unprotect, "unprotect", "")
	c.Var(&c.temp, "temp", "")
	c.BoolVar(&c.readOnly, "read-only", false, "")
	c.BoolVar(&c.redact, "redact", false, "")
	c.Var(&c.env, "env", "")
	c.Var(&c.tier, "tier", "")
	c.Var(&c.require, "require", "")
	c.Var(&c.accept, "accept-gap", "")
	c.Var(&c.explain, "explain-denials", "")
	c.BoolVar(&c.allowUnix, "allow-unix", false, "")
	c.BoolVar(&c.allowUnparsed, "allow-unparsed", false, "")
	c.BoolVar(&c.dryRun, "dry-run", false, "")
	c.BoolVar(&c.dieWithParent, "die-with-parent", false, "")
	c.preview.declare(&c.flags)
	c.permission.declare(&c.flags)
	return c
}

// execProgram is sbx exec.
func execProgram(s *streams, args []string) int {
	c, err := parseExec(args, "exec")
	return c.start(s, err, execHelp)
}

// parseExec reads the arguments of sbx exec, or of sbx session exec.
func parseExec(args []string, verb string) (*execCall, error) {
	c := newExecCall("exec")
	c.verb, c.args, c.stops = verb, args, true
	synopsis := "sbx exec [flags] -- PROGRAM ARGUMENT…"
	if verb == "session" {
		c.session.value = sessionAuto
		synopsis = "sbx session exec [flags] -- PROGRAM ARGUMENT…"
	}
	err := c.parse(args)
	if err == nil && len(c.after) == 0 {
		err = usage("no program", synopsis)
	}
	c.request.Argv = c.after
	return c, err
}

// runText is sbx run.
func runText(s *streams, args []string) int {
	c, err := parseRun(args)
	return c.start(s, err, runHelp)
}

func parseRun(args []string) (*execCall, error) {
	c := newExecCall("run")
	c.verb, c.args = "run", args
	c.Var((*dialect)(&c.request.Dialect), "shell", "")
	err := c.parse(args)
	words := append(c.operands, c.after...)
	switch {
	case err != nil:
	case len(words) == 0 || words[0] == "":
		err = usage("no command", "sbx run 'COMMAND'")
	case len(words) > 1:
		err = usage("more than one operand", "quote the command as one word, or write sbx exec -- "+strings.Join(words, " "))
	default:
		c.request.Text = words[0]
	}
	return c, err
}

// start runs a call that was understood. Misuse is 125, not 2: every other
// status below 124 may be the program's own.
func (c *execCall) start(s *streams, err error, help string) int {
	if errors.Is(err, errHelp) {
		s.help(help)
		return exitOK
	}
	c.wrapping = c.wrapping || c.workspace == "" && isWrapped()
	if c.wrapping && c.result == "" {
		c.result = os.Getenv(resultVar)
	}
	if err == nil {
		err = c.preview.check()
	}
	sink, serr := openSink(c.result)
	if err == nil {
		err = serr
	}
	var result sbx.Result
	if err != nil {
		result = c.notStarted(s, sbx.Options{Audit: auditPath()}, err)
	} else {
		result, err = c.perform(s)
	}
	if settled := (*approvals.SettledError)(nil); errors.As(err, &settled) {
		return s.settled(err)
	}
	if refused := (*permit.RefusedError)(nil); c.wrapping && errors.As(err, &refused) {
		s.toModel(refused)
	} else if err != nil {
		s.report(err)
	}
	status := result.ExitCode
	if cerr := c.conclude(s, &result); cerr != nil {
		s.fail(cerr)
		status = exitNotStarted
	}
	if c.ended != nil {
		c.ended(result, status)
	}
	if c.dryRun && err == nil {
		return exitOK
	}
	if werr := sink.write(result); werr != nil {
		s.fail(werr) // the status stays the program's: it has run
	}
	if result.AuditError != "" && err == nil {
		s.say("error", result.AuditError)
	}
	s.unsaved(result)
	c.remark(s, result)
	c.remarkTrust(s, result)
	if more := c.moreToTell(s, result); more != "" {
		s.say("hint", more)
	}
	if result.Ending == sandbox.TimedOut {
		return exitTime
	}
	return status
}

// program is the name of what was to run.
func (c *execCall) program() string {
	if len(c.request.Argv) > 0 {
		return c.request.Argv[0]
	}
	return c.request.Dialect.String()
}

// remark says what the exit status alone does not. A runtime takes standard
// error for the program's, so that it gets only what went wrong.
func (c *execCall) remark(s *streams, r sbx.Result) {
	s.denials(r)
	if kind, text := c.limitRemark(r); text != "" {
		s.say(kind, text)
	}
	if text := apartRemark(r); text != "" && (!c.wrapping || isTerminal(s.err)) {
		s.say("hint", text)
	}
	switch {
	case r.Ending == sandbox.NotFound:
		c.notFound(s, r)
	case r.Ending == sandbox.NotExec:
		s.say("error", c.program()+": not executable"+c.badInterpreter(r))
	case r.Ending == sandbox.TimedOut && !c.wrapping:
		s.say("error", "the time limit of "+c.timeout.String()+" is over (--timeout raises it)")
	case !c.wrapping && presetHint(string(c.net)) != "":
		s.say("hint", presetHint(string(c.net)))
	case len(r.Unenforced) > 0 && !c.wrapping:
		s.say("hint", "not enforced by backend "+r.Backend+": "+strings.Join(r.Unenforced, ", "))
	case r.NewGaps && (!c.wrapping || isTerminal(s.err)):
		s.say("hint", "not enforced here: "+gapList(r.Gaps)+" (sbx exec --dry-run says why; this is told once)")
	}
}

// perform makes the engine and runs or plans the command.
func (c *execCall) perform(s *streams) (sbx.Result, error) {
	if !c.dryRun {
		c.request.Signals, c.request.Ready = forwarded()
	}
	options, err := c.settings()
	if err != nil {
		return c.notStarted(s, options, err), err
	}
	engine, err := c.newEngine(options)
	if err != nil {
		return c.notStarted(s, options, err), err
	}
	defer engine.Close()
	c.engine, c.gated = engine, options.Gate != nil
	if c.cwd != "" {
		if c.request.Dir, err = fromHere(c.cwd); err != nil {
			return c.notStarted(s, options, err), err
		}
	}
	c.request.Keep = c.env.list
	c.request.Timeout = c.timeout.value
	c.request.Stdin, c.request.Stdout, c.request.Stderr = s.in, s.out, s.err
	if c.dryRun {
		if err := c.plan(s, engine); err != nil {
			return c.notStarted(s, options, err), err
		}
		return sbx.Result{}, nil
	}
	if c.wrapping || c.dieWithParent {
		c.request.Orphaned = watchCaller()
	}
	if c.claim != nil {
		c.request.Stdin = nil // its own is no more
		if err := c.claimed(engine); err != nil {
			return c.notStarted(s, options, err), err
		}
	}
	result, err := engine.Run(c.run(), c.request)
	if inContainers(result.Backend) { // it was not known before that they keep it
		result.Unenforced = slices.DeleteFunc(result.Unenforced, func(name string) bool { return name == cpusVar })
	}
	return result, err
}

// notStarted is the result of a run that no engine had. It stands in the audit
// file as every other.
func (c *execCall) notStarted(s *streams, o sbx.Options, err error) sbx.Result {
	result := sbx.NotStarted(o, err)
	if c.dryRun {
		return result
	}
	if aerr := sbx.Audit(o.Audit, result); aerr != nil {
		result.AuditError = aerr.Error()
		s.fail(aerr)
	}
	return result
}

// auditPath is the audit file of a call that was not understood. A
// configuration that cannot be read names none.
func auditPath() string {
	file, _ := config.Load(os.Getenv)
	return file.Audit
}

func (c *execCall) plan(s *streams, engine *sbx.Engine) error {
	plan, err := engine.Plan(c.run(), c.request)
	if err != nil {
		return err
	}
	return writeJSON(s.out, plan)
}

// report prints an error in the words of the output rules: what sbx decided
// against is refused, what it could not do is an error.
func (s *streams) report(err error) {
	var (
		denied    *sbx.DeniedError
		unparsed  *sbx.UnparsedError
		workspace *sbx.WorkspaceError
		path      *sbx.PathError
		gaps      *sandbox.GapError
		unheld    *ssh.UnheldError
		preview   *sbx.PreviewError
		refused   *permit.RefusedError
		changed   *sbx.ChangedError
	)
	switch {
	case errors.As(err, &refused):
		s.notPermitted(refused)
	case errors.As(err, &preview):
		s.say("refused", preview.Error())
		s.say("hint", preview.Instead)
	case errors.As(err, &denied):
		for _, v := range denied.Refusals {
			place := ""
			if v.Path != "" {
				place = v.Place() + ": "
			}
			s.say("refused", fmt.Sprintf("%s%s: %s (rule %s)", place, v.Words, v.Reason, v.Rule))
			if v.Instead != "" {
				s.say("hint", v.Instead)
			}
		}
	case errors.As(err, &unparsed), errors.As(err, &workspace), errors.As(err, &path), errors.As(err, &changed):
		s.say("refused", err.Error())
	case errors.As(err, &gaps) && isWrapper(gaps.Backend):
		s.say("refused", "nobody claims for the wrapper "+gaps.Backend+" that it holds "+gapList(gaps.Gaps))
		s.say("hint", "sbx probe "+gaps.Backend+" shows what it holds, for sbx.wrappers in the configuration; --accept-gap all runs it without the rest")
	case errors.As(err, &unheld):
		s.say("refused", unheld.Error())
		s.say("hint", "install sbx there, or name it in sbx.ssh.program; --accept-gap all with --ssh-workspace shared runs it there without any confinement")
	case errors.As(err, &gaps):
		s.say("refused", err.Error())
		for _, g := range gaps.Gaps {
			hint := "--accept-gap " + string(g.Control) + " runs it without"
			if g.Fix != "" {
				hint = g.Fix + "; " + hint
			}
			s.say("hint", hint)
		}
	default:
		s.fail(err)
	}
}
