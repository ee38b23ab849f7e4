package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox"
	wrapped "github.com/sbx-run/sbx/sandbox/command"
	"github.com/sbx-run/sbx/sandbox/probes"
	"github.com/sbx-run/sbx/sandbox/ssh"
)

const probeHelp = `sbx probe: try on this machine what a backend really stops.

  sbx probe                     the backend direct
  sbx probe none                another backend
  sbx probe command:/opt/w.sh   a wrapper script of your own, and what it may claim
  sbx probe --all               every backend found, side by side
  sbx probe --only P01,P45      some rows (P49 means P49a, P49b and so on)

Each row is tried twice, without a sandbox and inside, and then the host is
looked at. The answers: held; NOT HELD; gap named (open, and the backend says
so); could not be tried (with the reason); not applicable. Nothing is changed
outside of temporary directories, which are removed.

  --json          one object with everything that was observed
  --markdown      the matrix of docs/backends.md
  --verbose       a line for each row
  --library       as an embedding program runs commands: without a supervisor
  --dir DIR       where the temporary directory is made
  --image IMAGE   of the containers; it needs sh, and what the rows call

Exit status: 0 nothing is NOT HELD, 1 something is, 2 usage, 125 could not.
`

// probeCall is a call of sbx probe.
type probeCall struct {
	flags
	all, json, markdown, verbose, library bool
	only                                  list
	dir, image                            string
	container                             sandbox.Container
}

// probeCommand is sbx probe. The same program acts inside the sandbox, under
// names that begin with two underscores.
func probeCommand(s *streams, args []string) int {
	if probes.Helper(args) {
		return probes.Main(args, func(name string, _ []string) (sandbox.Backend, error) {
			known, err := backendsHere(name)
			if err != nil {
				return nil, err
			}
			return known.Lookup(name)
		})
	}
	c := &probeCall{flags: *newFlags("probe")}
	c.BoolVar(&c.all, "all", false, "")
	c.BoolVar(&c.json, "json", false, "")
	c.BoolVar(&c.markdown, "markdown", false, "")
	c.BoolVar(&c.verbose, "verbose", false, "")
	c.BoolVar(&c.library, "library", false, "")
	c.Var(&c.only, "only", "")
	c.StringVar(&c.dir, "dir", "", "")
	c.StringVar(&c.image, "image", "", "")
	err := c.parse(args)
	if errors.Is(err, errHelp) {
		s.help(probeHelp)
		return exitOK
	}
	var backends []sandbox.Backend
	if err == nil {
		backends, err = c.backends()
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	return c.run(s, backends)
}

func (c *probeCall) backends() ([]sandbox.Backend, error) {
	names := append(c.operands, c.after...)
	switch {
	case c.all && len(names) > 0:
		return nil, usage("--all and a backend", "leave one of them out")
	case c.all:
		names = sbx.Backends().Names()
	case len(names) == 0:
		names = []string{"direct"}
	case len(names) > 1:
		return nil, usage("more than one backend", "sbx probe --all compares them")
	}
	known, err := backendsHere(names[0])
	if err != nil {
		return nil, err
	}
	if c.container, err = c.containers(); err != nil {
		return nil, err
	}
	var all []sandbox.Backend
	for _, name := range names {
		b, err := known.Lookup(name)
		if err != nil {
			return nil, usage("no backend "+quote(name), meant(name, known.Offered(), "", "the backends are: "+strings.Join(known.Names(), ", ")))
		}
		all = append(all, b)
	}
	return all, nil
}

// containers are as a run would make them.
func (c *probeCall) containers() (sandbox.Container, error) {
	run := execCall{image: c.image}
	var o sbx.Options
	file, err := config.Load(os.Getenv)
	if err != nil {
		return o.Container, err
	}
	over, err := config.ReadOverrides(os.Getenv)
	if err != nil {
		return o.Container, err
	}
	err = run.container(&o, file, over)
	return o.Container, err
}

// engineEnvironment is what the helpers need to find an engine, and the image
// for the rows about the command line.
func engineEnvironment(image string) []string {
	var env []string
	for _, name := range [...]string{
		"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "CONTAINER_HOST", "CONTAINERS_CONF",
		"CONTAINERD_ADDRESS", "CONTAINERD_NAMESPACE", "CONTAINERD_SNAPSHOTTER",
		"CONTAINERS_STORAGE_CONF", "XDG_RUNTIME_DIR", "PEPE_CONFIG", "PEPE_HOME",
	} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if image != "" {
		env = append(env, "PEPE_SANDBOX_IMAGE="+image)
	}
	return env
}

// check reads the values of the flags.
func (c *probeCall) check() error {
	var only []string
	for _, words := range c.only {
		for word := range strings.SplitSeq(words, ",") {
			if word = strings.TrimSpace(word); !probes.Known(word) {
				return usage("--only: there is no row "+quote(word), "sbx probe --json lists them")
			}
			only = append(only, word)
		}
	}
	c.only = only
	if c.json && c.markdown {
		return usage("--json and --markdown", "choose one of them")
	}
	var err error
	if c.dir != "" {
		c.dir, err = fromHere(c.dir)
	}
	return err
}

func (c *probeCall) run(s *streams, backends []sandbox.Backend) int {
	self, err := os.Executable()
	if err != nil {
		s.fail(fmt.Errorf("find the path of sbx: %w", err))
		return exitNotStarted
	}
	proxy, err := probedProxy()
	if err != nil {
		s.say("hint", err.Error())
	}
	ctx, stop := untilTold()
	defer stop()
	var reports []probes.Report
	for _, b := range backends {
		o := probes.Options{
			Helper: []string{self, "probe"}, Exec: []string{self, "exec"}, Dir: c.dir, Only: c.only, Library: c.library, Proxy: proxy,
			Parallel: min(max(runtime.NumCPU(), 2), 4), Container: c.container, Environ: engineEnvironment(c.container.Image),
		}
		if isWrapper(b.Name()) || b.Name() == ssh.Name { // the rows find out what else would refuse
			o.Exec = append(o.Exec, "--accept-gap", allGaps)
		}
		if c.verbose && !c.json {
			o.Progress = func(out probes.Outcome) { fmt.Fprintln(s.err, progress(out)) }
		}
		report, err := probes.Run(ctx, b, o)
		if err != nil {
			if c.all && errors.Is(err, sandbox.ErrUnsupported) {
				continue // of another system
			}
			s.fail(err)
			if c.all && ctx.Err() == nil {
				continue // another backend may be there
			}
			return exitNotStarted
		}
		reports = append(reports, report)
	}
	if len(reports) == 0 {
		return exitNotStarted
	}
	return c.print(s, reports)
}

// probedProxy is the sbx-proxy that runs would use.
func probedProxy() (string, error) {
	file, err := config.Load(os.Getenv)
	if err != nil {
		return "", err
	}
	return sbx.FindProxy(file.Proxy)
}

// progress is the line of one row.
func progress(o probes.Outcome) string {
	text := fmt.Sprintf("%-5s %-18s %s", o.ID, o.Status, visible(o.Try))
	if o.Observed != "" && o.Status != probes.NotTried {
		text += ": " + visible(o.Observed)
	}
	if o.Why != "" {
		text += " (" + visible(o.Why) + ")"
	}
	return text
}

// print shows the reports. Only what a backend promises can fail: of the
// backend none, which promises nothing, everything is open.
func (c *probeCall) print(s *streams, reports []probes.Report) int {
	status := exitOK
	for _, r := range reports {
		if r.Failed() {
			status = 1
		}
	}
	switch {
	case c.json && c.all:
		_ = writeJSON(s.out, map[string]any{"reports": reports})
	case c.json:
		_ = writeJSON(s.out, reports[0])
	case c.markdown:
		fmt.Fprint(s.out, probes.Markdown(reports))
	default:
		c.printText(s, reports)
	}
	return status
}

func (c *probeCall) printText(s *streams, reports []probes.Report) {
	if c.all {
		fmt.Fprint(s.out, probes.Compare(reports))
	} else {
		fmt.Fprint(s.out, reports[0].Table())
	}
	for _, r := range reports {
		for _, o := range r.Outcomes {
			if o.Status == probes.NotHeld {
				fmt.Fprintf(s.out, "\n%s %s: %s\n  without a sandbox: %s\n  inside: %s\n  %s\n",
					r.Backend, o.ID, visible(o.Try), visible(o.Control), visible(o.Observed), o.Why)
			}
		}
	}
	fmt.Fprintln(s.out)
	for _, r := range reports {
		fmt.Fprintln(s.out, r.Summary())
		if path, ok := wrapped.Path(r.Backend); ok {
			fmt.Fprintf(s.out, "what this wrapper may claim here: \"wrappers\": {%q: {\"claims\": [%s]}}\n", path, trueClaims(r))
		}
	}
}
