//go:build amd64 || arm64

package probes

import (
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
	"github.com/sbx-run/sbx/sandbox/protect"
)

// procedure does a row that is more than one command.
func (r *runner) procedure(row Row, at place) (observation, []sandbox.Gap) {
	argument := ""
	if len(row.Procedure) > 1 {
		argument = row.Procedure[1]
	}
	switch row.Procedure[0] {
	case "leak":
		return r.leaked(row, at)
	case "type":
		return r.typed(row, at)
	case "swap":
		return r.swapped(at)
	case "late-secret":
		return r.lateSecret(row, at)
	case "late-replace":
		return r.whileRunning(row, at, ".netrc")
	case "late-new":
		return r.whileRunning(row, at, ".vault-token")
	case "odd-name":
		return r.oddName(argument, at)
	case "exit-codes":
		return r.exitCodes(at)
	case "signal":
		return r.endsBySignal(at)
	case "status":
		return r.statusOf(row, at)
	case "daemon":
		return r.daemons(argument, at)
	case "time-limit":
		return r.timeLimit()
	case "caller-killed":
		return r.callerKilled(at)
	case "stubs":
		return r.stubs(at)
	case "prepared":
		return r.prepared(row, at)
	case "reported":
		return r.reported(row, at, protect.Options{})
	case "taken-back":
		return r.reported(row, at, protect.Options{Strict: true})
	case "crash-stubs":
		return r.crashStubs(at)
	case "limits-required":
		return r.limitsRequired()
	case "limit":
		return r.limited(row, at)
	case "flood":
		return r.flood(at)
	case "denial":
		return r.denialTold(row, at)
	case "required":
		return r.required()
	case "nobody":
		return r.asNobody(row, at)
	case "exec-refuses":
		return r.execRefuses(at), nil
	case "exec-link":
		return r.execLink(), nil
	case "exec-environment":
		return r.execEnvironment(row, at), nil
	case "exec-backend":
		return r.execBackend(at), nil
	}
	return observation{trouble: "no procedure " + row.Procedure[0]}, nil
}

func failure(d done) (observation, []sandbox.Gap) {
	return observation{none: d.none, detail: d.describe()}, d.plan.Gaps
}

// leaked runs an act in a supervisor that has a file open.
func (r *runner) leaked(row Row, at place) (observation, []sandbox.Gap) {
	before := r.room.state()
	vars := r.room.vars()
	name := os.Expand(row.Procedure[1], func(v string) string { return vars[v] })
	d := r.startAs(r.act(row.Procedure[2:]...), at, row.Setup, way{leak: []string{name}}).wait()
	return r.judge(row, before, d), d.plan.Gaps
}

// typed runs an act on the terminal that controls it.
func (r *runner) typed(row Row, at place) (observation, []sandbox.Gap) {
	before := r.room.state()
	// A duplicate: the end of the session's leader hangs the terminal up.
	fd, err := unix.FcntlInt(uintptr(r.room.terminal.slave), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return observation{trouble: err.Error()}, nil
	}
	stdin := os.NewFile(uintptr(fd), "terminal")
	d := r.startAs(r.act(row.Procedure[1:]...), at, row.Setup, way{stdin: stdin, terminal: true}).wait()
	o := r.judge(row, before, d)
	_ = stdin.Close()
	r.room.terminal.close()
	if r.room.terminal, err = openTerminal(); err != nil {
		return observation{trouble: err.Error()}, nil
	}
	return o, d.plan.Gaps
}

// swapped puts a link to the outside in the workspace's place after the session
// was opened.
func (r *runner) swapped(at place) (observation, []sandbox.Gap) {
	ws, moved := r.room.ws(), r.room.base+"/moved"
	before := r.room.state()
	j := r.startAs([]string{"sh", "-c", "echo reached; cd \"$W\" && echo x >new"}, at, Setup{}, way{hold: true})
	err := os.Rename(ws, moved)
	if err == nil {
		err = os.Symlink(r.room.out(), ws)
	}
	j.proceed()
	d := j.wait()
	_, wrote := os.Lstat(r.room.out() + "/new")
	_ = os.Remove(ws)
	if back := os.Rename(moved, ws); err != nil || back != nil {
		return observation{trouble: fmt.Sprint(err, back)}, nil
	}
	_ = before
	o := observation{ran: d.none || strings.Contains(d.out, "reached"), open: wrote == nil, detail: d.describe()}
	if o.open {
		o.detail = "made $O/new"
	} else if d.none {
		o.detail = "refused"
	}
	return o, d.plan.Gaps
}

// lateSecret reads a credential file that is written after the session was
// opened.
func (r *runner) lateSecret(row Row, at place) (observation, []sandbox.Gap) {
	file := r.room.home() + "/.vault-token"
	before := r.room.state()
	j := r.startAs(r.act("read", file), at, row.Setup, way{hold: true})
	err := os.WriteFile(file, []byte(r.room.secret), 0o644)
	j.proceed()
	d := j.wait()
	if err != nil {
		return observation{trouble: err.Error()}, nil
	}
	return r.judge(row, before, d), d.plan.Gaps
}

// oddName works in a workspace with a name that means something to shells,
// policy languages or option parsers.
func (r *runner) oddName(name string, at place) (observation, []sandbox.Gap) {
	around := r.room.base + "/run/odd"
	if err := removeAll(around); err != nil {
		return observation{trouble: err.Error()}, nil
	}
	ws := filepath.Join(around, name)
	if err := os.MkdirAll(ws, 0o755); err != nil {
		return observation{trouble: err.Error()}, nil
	}
	d := r.startAs([]string{"sh", "-c", "echo reached; pwd; echo x >in"}, at, Setup{}, way{change: func(o *order) {
		o.Workspace = []byte(ws)
	}}).wait()
	names, _ := filepath.Glob(around + "/*")
	_, err := os.Stat(ws + "/in")
	o := observation{ran: true, open: err == nil && len(names) == 1, detail: d.describe()}
	// A wrapper script says by the status 125 alone that it has run nothing.
	if (d.none || d.code == 125 && err != nil) && len(names) == 1 {
		o.open, o.detail = true, "refused: "+d.err
	}
	return o, d.plan.Gaps
}

func (r *runner) exitCodes(at place) (observation, []sandbox.Gap) {
	var gaps []sandbox.Gap
	for _, code := range []int{0, 1, 2, 42, 124, 125, 126, 127, 128, 255} {
		d := r.start(r.act("exit", strconv.Itoa(code)), at, Setup{}).wait()
		gaps = d.plan.Gaps
		if d.err != "" || d.ending != sandbox.Exited || d.code != code {
			return observation{ran: true, detail: fmt.Sprintf("exit status %d came as %s %d %s", code, d.ending, d.code, d.err)}, gaps
		}
	}
	return observation{ran: true, open: true}, gaps
}

func (r *runner) endsBySignal(at place) (observation, []sandbox.Gap) {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGKILL, unix.SIGHUP} {
		d := r.start(r.act("raise", strconv.Itoa(int(sig))), at, Setup{}).wait()
		if d.err != "" || d.ending != sandbox.Signaled || d.signal != int(sig) || d.code != 128+int(sig) {
			return observation{ran: true, detail: fmt.Sprintf("signal %d came as %s %d %d %s", sig, d.ending, d.signal, d.code, d.err)}, d.plan.Gaps
		}
	}
	return observation{ran: true, open: true}, nil
}

// statusOf starts what cannot be started: PROCEDURE CODE TEXT WORD…; TEXT is
// written to the file that the first word names, unless it is empty.
func (r *runner) statusOf(row Row, at place) (observation, []sandbox.Gap) {
	vars := r.room.vars()
	argv := slices.Clone(row.Procedure[3:])
	for i := range argv {
		argv[i] = os.Expand(argv[i], func(v string) string { return vars[v] })
	}
	if text := row.Procedure[2]; text != "" {
		if err := os.WriteFile(argv[0], []byte(text), 0o755); err != nil {
			return observation{trouble: err.Error()}, nil
		}
	}
	d := r.start(argv, at, row.Setup).wait()
	want, _ := strconv.Atoi(row.Procedure[1])
	return observation{ran: true, open: d.err == "" && d.code == want, detail: fmt.Sprintf("%s, exit status %d %s", d.ending, d.code, d.err)}, d.plan.Gaps
}

// daemons looks on the host for what a command left behind.
func (r *runner) daemons(how string, at place) (observation, []sandbox.Gap) {
	saying := r.room.ws() + "/started"
	d := r.start(r.act("daemon", "$MARK", saying, how), at, Setup{}).wait()
	if _, err := os.Stat(saying); err != nil || d.err != "" {
		return failure(d)
	}
	return r.left(at), d.plan.Gaps
}

// afterEnd is how long what ends may take to be gone.
const afterEnd = time.Second

// left counts the processes with the room's mark that go on.
func (r *runner) left(at place) observation {
	limit := afterEnd
	if at == outdoors {
		limit = 0
	}
	awaitFor(limit, func() bool { return len(processesWith(r.room.mark)) == 0 })
	n := len(processesWith(r.room.mark))
	o := observation{ran: true, open: n > 0, detail: "nothing is left"}
	if o.open {
		o.detail = fmt.Sprintf("%d processes go on", n)
	}
	return o
}

func (r *runner) timeLimit() (observation, []sandbox.Gap) {
	saying := r.room.ws() + "/started"
	limit := Setup{Limit: 300 * time.Millisecond}
	d := r.startAs(r.act("ignore-term", "$MARK", saying), indoors, limit, way{patience: 10 * time.Second}).wait()
	o := r.left(indoors)
	if d.ending != sandbox.TimedOut {
		return observation{ran: true, detail: fmt.Sprintf("ended by %q: %s", d.ending, d.describe())}, d.plan.Gaps
	}
	return observation{ran: true, open: !o.open, detail: o.detail}, d.plan.Gaps
}

// callerKilled kills the supervisor the hard way in the middle of a run.
func (r *runner) callerKilled(at place) (observation, []sandbox.Gap) {
	j, o := r.kill(at)
	if o.ran {
		o = r.left(at)
	}
	return o, j.first.Plan.Gaps
}

// kill starts a command with a child, waits until both run, and kills the
// supervisor.
func (r *runner) kill(at place) (*job, observation) {
	saying := r.room.ws() + "/started"
	j := r.start(r.act("wait-child", "$MARK", saying), at, Setup{})
	running := await(func() bool { _, err := os.Stat(saying); return err == nil })
	if j.process != nil {
		_ = j.process.Kill()
	}
	j.end()
	if !running {
		return j, observation{detail: "did not start: " + j.text()}
	}
	return j, observation{ran: true}
}

// names lists all files of the workspace.
func (r *runner) names() string {
	var list []string
	_ = filepath.WalkDir(r.room.ws(), func(path string, d os.DirEntry, err error) error {
		if err == nil {
			list = append(list, path+" "+d.Type().String())
		}
		return nil
	})
	return strings.Join(list, "\n")
}

// stubs runs a command that does nothing and looks for new files.
func (r *runner) stubs(at place) (observation, []sandbox.Gap) {
	before := r.names()
	d := r.start(r.act("nothing"), at, Setup{}).wait()
	if d.err != "" || d.code != 0 {
		return failure(d)
	}
	return observation{ran: true, open: r.names() == before, detail: "compared the workspace"}, d.plan.Gaps
}

// mounts counts those on the host that touch the room.
func (r *runner) mounts() int {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	return strings.Count(string(text), r.room.base)
}

func (r *runner) crashStubs(at place) (observation, []sandbox.Gap) {
	before := r.names()
	j, o := r.kill(at)
	if !o.ran {
		return o, j.first.Plan.Gaps
	}
	_ = r.left(indoors)
	_ = os.Remove(r.room.ws() + "/started")
	o.open, o.detail = r.names() == before && r.mounts() == 0, "compared the workspace and the mounts"
	return o, j.first.Plan.Gaps
}

// flooded is how much is written to each stream, in MiB.
const flooded = 16

func (r *runner) flood(at place) (observation, []sandbox.Gap) {
	in, out, err := os.Pipe()
	if err != nil {
		return observation{trouble: err.Error()}, nil
	}
	defer in.Close()
	j := r.startAs(r.act("flood", strconv.Itoa(flooded)), at, Setup{}, way{stdout: out})
	_ = out.Close()
	_ = in.SetReadDeadline(time.Now().Add(longest))
	n, _ := io.Copy(io.Discard, in)
	d := j.wait()
	return observation{ran: true, open: n == 2*flooded<<20 && d.code == 0, detail: fmt.Sprintf("%d bytes came", n)}, d.plan.Gaps
}

// required asks, one by one, for the controls that are gaps here.
func (r *runner) required() (observation, []sandbox.Gap) {
	if r.plan.Backend == "" {
		r.plan = r.start(r.act("nothing"), indoors, Setup{}).wait().plan
	}
	for _, g := range r.plan.Gaps {
		d := r.startAs(r.act("create", "$W/ran"), indoors, Setup{}, way{change: func(o *order) {
			o.Profile.Required, o.Profile.Accept = []sandbox.Control{g.Control}, nil
		}}).wait()
		_, err := os.Stat(r.room.ws() + "/ran")
		if (err == nil || !d.none) && !slices.ContainsFunc(d.plan.Gaps, func(have sandbox.Gap) bool { return have.Control == g.Control }) {
			_ = os.Remove(r.room.ws() + "/ran")
			continue // another tier of the backend gives it
		}
		if err == nil || !d.none {
			return observation{ran: true, open: true, detail: string(g.Control) + " was required, is missing, and the command ran"}, nil
		}
	}
	return observation{ran: true, detail: fmt.Sprintf("refused, each of %d", len(r.plan.Gaps))}, nil
}

// asNobody runs under another identity in a workspace of that user.
func (r *runner) asNobody(row Row, at place) (observation, []sandbox.Gap) {
	for _, dir := range []string{r.room.ws(), r.room.base + "/private/tmp"} {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return observation{trouble: err.Error()}, nil
		}
		defer os.Chown(dir, 0, 0)
	}
	before := r.room.state()
	d := r.start(r.act(row.Procedure[1:]...), at, row.Setup).wait()
	return r.judge(row, before, d), d.plan.Gaps
}
