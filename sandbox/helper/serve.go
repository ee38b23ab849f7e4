package helper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/sbx-run/sbx/sandbox"
)

const usage = `%s runs commands for sbx. It is not called by hand.

  probe   print what it can enforce here, as JSON
  plan    read an order from $SBX_PLAN_FD, write the plan to $SBX_RESULT_FD
  run     read an order from $SBX_PLAN_FD, run it, write the result to $SBX_RESULT_FD
  start, stop
          the same for a sandbox that is kept between commands
  left, sweep
          print what killed runs left and nobody uses, as a JSON list; sweep removes it
`

// Serve is the main function of a helper around a backend. It returns the exit
// status: for run, the command's.
func Serve(b sandbox.Backend, args []string) int {
	verb := ""
	if len(args) == 1 {
		verb = args[0]
	}
	switch verb {
	case verbProbe:
		return probe(b)
	case verbLeft, verbSweep:
		return sweep(b, verb == verbSweep)
	case verbPlan, verbRun, verbStart, verbStop:
	case "--help", "-h":
		fmt.Printf(usage, Prefix+b.Name())
		return 0
	default:
		fmt.Fprintf(os.Stderr, usage, Prefix+b.Name())
		return 2
	}
	orders, answers, err := descriptors()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s%s: error: %v\n", Prefix, b.Name(), err)
		return 2
	}
	in := json.NewDecoder(bufio.NewReader(orders))
	in.DisallowUnknownFields() // what we do not know may have been meant to confine
	out, status := handle(b, verb, in)
	// sbx may have been killed: then nobody is left to be told.
	if err := json.NewEncoder(answers).Encode(out); err != nil && !errors.Is(err, syscall.EPIPE) {
		fmt.Fprintf(os.Stderr, "%s%s: error: write the result: %v\n", Prefix, b.Name(), err)
	}
	return status
}

func probe(b sandbox.Backend) int {
	c, err := b.Probe(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(c); err != nil {
		return 1
	}
	return 0
}

// sweep prints what is left, and removes it if told to. A backend that leaves
// nothing has nothing to say.
func sweep(b sandbox.Backend, remove bool) int {
	left := []string{}
	if sweeper, ok := b.(sandbox.Sweeper); ok {
		found, err := sweeper.Sweep(context.Background(), remove)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		left = append(left, found...)
	}
	if err := json.NewEncoder(os.Stdout).Encode(left); err != nil {
		return 1
	}
	return 0
}

// descriptors opens the two that sbx named. They are not for the command, nor
// for what the helper starts.
func descriptors() (orders, answers *os.File, err error) {
	var files [2]*os.File
	for i, name := range [...]string{planVar, resultVar} {
		fd, err := strconv.Atoi(os.Getenv(name))
		if err != nil || fd < 3 {
			return nil, nil, fmt.Errorf("%s names no descriptor: sbx calls this program", name)
		}
		closeOnExec(fd)
		files[i] = os.NewFile(uintptr(fd), name)
		if _, err := files[i].Stat(); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		os.Unsetenv(name)
	}
	return files[0], files[1], nil
}

// errEnded is why a run ends that sbx wants no more, or that it has left alone.
var errEnded = errors.New("sbx, or who called it, ended")

// handle reads the order and does it.
func handle(b sandbox.Backend, verb string, in *json.Decoder) (outcome, int) {
	fail := func(err error) (outcome, int) { return outcome{Error: failureOf(err)}, 125 }
	var o order
	if err := in.Decode(&o); err != nil {
		return fail(fmt.Errorf("backend %s: read the order: %w: %w", b.Name(), err, sandbox.ErrStart))
	}
	if o.Version != Version {
		return fail(fmt.Errorf("backend %s: sbx speaks version %d of the helper protocol, this helper %d: install both of one release: %w",
			b.Name(), o.Version, Version, sandbox.ErrUnavailable))
	}
	if o.Upstream != nil && o.Profile.Egress != nil {
		o.Profile.Egress.Upstream = *o.Upstream
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	end := func() { cancel(errEnded) }
	defer end()
	signals := make(chan os.Signal, 16)
	go hear(in, end, signals)
	stop := fromTerminal(signals)
	defer stop()
	making, made := sandbox.UntilSignaled(ctx, signals)
	if verb == verbStart || verb == verbStop {
		defer made()
		return keep(making, b, verb, o)
	}
	session, err := b.Open(making, o.Profile)
	made()
	if err != nil {
		return fail(err)
	}
	defer session.Close()
	c := o.Command.command()
	if verb == verbPlan {
		plan, err := session.Plan(c)
		if err != nil {
			return fail(err)
		}
		return outcome{Plan: &plan}, 0
	}
	c.Signals = signals
	result, err := session.Run(ctx, c)
	if err != nil && result.Ending == "" {
		return fail(err)
	}
	return outcome{Result: &result, Error: failureOf(err)}, result.ExitCode
}

// keep makes or ends a sandbox that outlives this process.
func keep(ctx context.Context, b sandbox.Backend, verb string, o order) (outcome, int) {
	fail := func(err error) (outcome, int) { return outcome{Error: failureOf(err)}, 125 }
	starter, ok := b.(sandbox.Starter)
	switch {
	case !ok:
		return fail(fmt.Errorf("backend %s: it keeps no sessions: %w", b.Name(), sandbox.ErrUnavailable))
	case o.Session == nil || verb == verbStop && o.Session.Warm == nil:
		return fail(fmt.Errorf("backend %s: the order names no session: %w", b.Name(), sandbox.ErrStart))
	case verb == verbStop:
		if err := starter.Stop(ctx, o.Profile, *o.Session.Warm); err != nil {
			return fail(err)
		}
		return outcome{}, 0
	}
	w, err := starter.Start(ctx, o.Profile, o.Session.Dir, o.Session.Idle)
	if err != nil {
		return fail(err)
	}
	return outcome{Warm: &w}, 0
}

// hear reads what sbx says during the run. Its end is the end of sbx.
func hear(in *json.Decoder, end func(), signals chan<- os.Signal) {
	defer end()
	for {
		var c control
		if err := in.Decode(&c); err != nil || c.End {
			if err != nil && !errors.Is(err, io.EOF) {
				fmt.Fprintln(os.Stderr, "sbx: error: read control message:", err)
			}
			return
		}
		if c.Signal > 0 {
			signals <- syscall.Signal(c.Signal)
		}
	}
}

// command is the order's with the streams of this process.
func (c command) command() sandbox.Command {
	out := sandbox.Command{Dir: c.Dir, Timeout: c.Timeout, Grace: c.Grace, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	for _, word := range c.Argv {
		out.Argv = append(out.Argv, string(word))
	}
	for _, v := range c.Env {
		value := ""
		if v.Value != nil {
			value = string(*v.Value)
		} else if v.From == fromHost {
			value = os.Getenv(string(v.Name))
		}
		out.Env = append(out.Env, string(v.Name)+"="+value)
	}
	return out
}
