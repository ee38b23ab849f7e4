//go:build amd64 || arm64

package probes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

const (
	longest    = 30 * time.Second       // one act; a healthy one takes milliseconds
	lateChange = 100 * time.Millisecond // a signal or a datagram on its way
	grace      = 100 * time.Millisecond
)

// done is what came of one command.
type done struct {
	plan    sandbox.Plan
	ending  sandbox.Ending
	limit   sandbox.Ending // that was reached
	code    int
	signal  int
	out     string // both streams
	err     string // the run itself failed
	none    bool   // nothing ran
	trust   *sandbox.Trust
	denials []sandbox.Denial
	caller  int64 // signals that the supervisor got
	shorten func(string) string
}

func (d done) describe() string {
	text := strings.TrimSpace(strings.Replace(d.out, reached, "", 1))
	lines := strings.Split(text, "\n")
	last := d.shorten(lines[len(lines)-1])
	switch {
	case d.err != "":
		return d.err
	case d.signal != 0:
		return "ended by " + unix.SignalName(unix.Signal(d.signal))
	case d.code == 0:
		return "succeeded"
	case d.code == exitRefused || d.code == exitSetup:
		return last
	case last == "":
		return "exit status " + strconv.Itoa(d.code)
	}
	return fmt.Sprintf("exit status %d: %s", d.code, last[:min(len(last), 120)])
}

// job is a supervisor that runs, and what the runner holds of it.
type job struct {
	process *os.Process
	orders  *os.File
	answers *json.Decoder
	pipe    *os.File
	output  string // name of the file that both streams go to
	failure error
	first   answer
	shorten func(string) string
}

// way are the options of a start that rows do not need.
type way struct {
	stdin    *os.File // nil: the null device
	stdout   *os.File // nil: a file
	terminal bool     // the room's terminal is the controlling one
	hold     bool
	leak     []string
	change   func(*order)
	patience time.Duration // 0: longest
}

func (r *runner) start(argv []string, at place, s Setup) *job { return r.startAs(argv, at, s, way{}) }

// startAs starts a supervisor and returns when it has opened its session.
func (r *runner) startAs(argv []string, at place, s Setup, w way) *job {
	o := r.order(argv, at, s)
	o.Hold, o.Leak = w.hold, w.leak
	if w.change != nil {
		w.change(&o)
	}
	j := &job{shorten: r.room.shorten, output: filepath.Join(r.room.run(), "out")}
	j.failure = r.launch(j, o, s, w)
	if j.failure == nil {
		j.failure = j.answers.Decode(&j.first)
	}
	return j
}

func (r *runner) launch(j *job, o order, s Setup, w way) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
	}()
	hold := func(f *os.File, err error) *os.File {
		if err == nil {
			theirs = append(theirs, f)
		}
		return f
	}
	stdin := w.stdin
	if stdin == nil {
		name := os.DevNull
		if s.Stdin != "" {
			name = filepath.Join(r.room.run(), "in")
			if err := os.WriteFile(name, []byte(s.Stdin), 0o644); err != nil {
				return err
			}
		}
		stdin = hold(os.Open(name))
		if s.Stdin != "" { // with a name it would be refused where nothing keeps the command from writing it
			_ = os.Remove(name)
		}
	}
	stdout := w.stdout
	if stdout == nil {
		stdout = hold(os.Create(j.output))
	}
	orderIn, orderOut, err := os.Pipe()
	if err != nil {
		return err
	}
	answerIn, answerOut, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(orderIn, nil)
	hold(answerOut, nil)
	j.orders, j.pipe, j.answers = orderOut, answerIn, json.NewDecoder(answerIn)
	_ = answerIn.SetReadDeadline(time.Now().Add(cmp.Or(w.patience, longest)))
	attr := &os.ProcAttr{
		Dir: "/", Env: append(slices.Concat(raceOptions(), r.options.Environ), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), secretVar+"="+r.room.secret),
		Files: []*os.File{stdin, stdout, stdout, orderIn, answerOut},
		Sys:   &unix.SysProcAttr{Setsid: w.terminal, Setctty: w.terminal, Ctty: 0, Setpgid: !w.terminal},
	}
	argv := append(slices.Clone(r.options.Helper), modeSupervise)
	if j.process, err = os.StartProcess(argv[0], argv, attr); err != nil {
		return fmt.Errorf("start supervisor: %w", err)
	}
	_, err = j.orders.Write(append(line, '\n'))
	return err
}

// order is the usual one.
func (r *runner) order(argv []string, at place, s Setup) order {
	o := order{
		Without: r.options.Without, Argv: argv, Env: r.environment(), Limit: s.Limit, Grace: grace,
		Profile: sandbox.Profile{Workspace: r.room.ws()},
	}
	if at == outdoors {
		o.Backend = plainly
		return o
	}
	o.Backend = r.backend
	o.Profile = r.profile(s)
	if s.Limit == 0 {
		o.Limit = longest / 2
	}
	return o
}

func (r *runner) profile(s Setup) sandbox.Profile {
	base := r.room.base
	p := sandbox.Profile{
		Workspace: r.room.ws(), Write: []string{base + "/extra"}, Hide: []string{base + "/hide"}, Home: r.room.home(),
		Private:   sandbox.Private{Temp: base + "/private/tmp", Cache: base + "/private/cache"},
		UnixAllow: s.Unix, Supervisor: !r.options.Library, Container: r.options.Container,
		// Nothing refuses here: what is missing is a gap, and the rows say so.
		Accept: sandbox.Controls(),
	}
	p.Limits = s.Limits
	if s.Online {
		p.Network = sandbox.NetworkHost
	}
	if list, ok := strings.CutPrefix(s.Rules, allow); ok {
		words := strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
		p.Network = sandbox.NetworkRules
		p.Egress = &sandbox.Egress{Rules: r.expanded(words), Proxy: r.options.Proxy}
	}
	if s.Nobody {
		p.Identity = &sandbox.Identity{UID: nobody, GID: nobody, Groups: []uint32{nobody}, Why: "a probe"}
	}
	return p
}

// nobody is a user that owns nothing of the host's.
const nobody = 65534

// raceOptions reach a probe program that is built with the race detector, which
// waits for a second at the end of each process unless it is told not to.
func raceOptions() []string {
	if value, ok := os.LookupEnv("GORACE"); ok {
		return []string{"GORACE=" + value}
	}
	return nil
}

// environment is complete: the command gets nothing of the caller's.
func (r *runner) environment() []string {
	env := append(raceOptions(),
		"PATH="+os.Getenv("PATH"), "HOME="+r.room.home(), "TMPDIR="+r.room.base+"/private/tmp", "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
	)
	vars := r.room.vars()
	for _, name := range []string{"W", "O", "H", "B", "T", "TCP", "UDP", "SOCK", "VICTIM", "PROBE", "MARK"} {
		env = append(env, name+"="+vars[name])
	}
	if len(r.options.Helper) > 1 {
		env = append(env, "MODE="+strings.Join(r.options.Helper[1:], " ")+" "+modeAct)
	} else {
		env = append(env, "MODE="+modeAct)
	}
	return env
}

// proceed lets a supervisor that holds run the command.
func (j *job) proceed() {
	if j.failure == nil {
		_, j.failure = j.orders.Write([]byte("\n"))
	}
}

// wait returns what came of it.
func (j *job) wait() done {
	var last answer
	if j.failure == nil && !j.first.Nothing {
		j.failure = j.answers.Decode(&last)
	} else if j.first.Nothing {
		last = j.first
	}
	j.end()
	d := done{
		plan: j.first.Plan, ending: last.Result.Ending, limit: last.Result.Limit, code: last.Result.ExitCode, signal: last.Result.Signal,
		err: j.shorten(last.Err), none: last.Nothing, trust: last.Result.Trust, denials: last.Result.Denials, caller: last.Signals, shorten: j.shorten,
	}
	d.out = j.text()
	if j.failure != nil {
		d.err = "supervisor: " + j.failure.Error()
	}
	return d
}

// text is what the command has written so far.
func (j *job) text() string {
	f, err := os.Open(j.output)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(text)
}

// end lets go of the supervisor. It has ended, or is killed.
func (j *job) end() {
	if j.orders != nil {
		_ = j.orders.Close()
	}
	if j.process == nil {
		return
	}
	if j.failure != nil {
		_ = j.process.Kill()
	}
	_, _ = j.process.Wait()
	_ = j.pipe.Close()
}
