//go:build amd64 || arm64

package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// Run tries every row on a backend. An error means that the suite could not be
// run at all; what did not hold is in the report.
func Run(ctx context.Context, b sandbox.Backend, o Options) (Report, error) {
	if len(o.Helper) == 0 {
		return Report{}, errors.New("run probes: no helper program")
	}
	if o.Dir == "" {
		o.Dir = Base()
	}
	found, err := b.Probe(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("probe %s: %w", b.Name(), err)
	}
	report := Report{
		Backend: b.Name(), Tier: found.Tier, Version: found.Version, User: "user", Mode: "command",
		Kernel: kernel(), Gaps: found.Gaps, Counts: map[Status]int{},
	}
	if os.Geteuid() == 0 {
		report.User = "root"
	}
	if o.Library {
		report.Mode = "library"
	}
	var runners []*runner
	for range max(o.Parallel, 1) {
		r := &runner{ctx: ctx, options: o, backend: b.Name(), enforces: len(found.Enforced) > 0, apart: found.Apart, offline: found.Offline}
		if r.room, err = newRoom(o.Dir, o.Helper); err != nil {
			err = fmt.Errorf("run probes: %w", err)
			break
		}
		runners = append(runners, r)
		report.Rooms = append(report.Rooms, r.room.id)
	}
	if err == nil {
		l := line{rows: selected(o.Only), progress: o.Progress}
		err = l.tryAll(ctx, runners)
		report.Outcomes = l.outcomes
	}
	for _, out := range report.Outcomes {
		report.Counts[out.Status]++
	}
	for _, r := range runners {
		if r.plan.Backend != "" {
			report.Tier, report.Gaps, report.Enforced = r.plan.Tier, r.plan.Gaps, r.plan.Enforced
		}
		err = errors.Join(err, r.room.close())
	}
	return report, err
}

func kernel() string {
	var u unix.Utsname
	_ = unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:])
}

// runner is one run of the suite.
type runner struct {
	ctx      context.Context
	options  Options
	backend  string
	enforces bool // the backend promises anything
	apart    bool // see sandbox.Capabilities
	offline  string
	room     *room
	plan     sandbox.Plan // of the usual session
}

// place says where an act is done: without a sandbox, or inside.
type place bool

const (
	outdoors place = false
	indoors  place = true
)

func (r *runner) try(row Row) Outcome {
	out := outcome(row)
	if row.Beyond != "" {
		out.Status, out.Why = NotApplicable, row.Beyond
		return out
	}
	if row.Promises && !r.enforces {
		out.Status, out.Why = NotApplicable, "the backend promises nothing"
		return out
	}
	if row.Needs.SameHost && r.apart {
		out.Status, out.Why = NotApplicable, "the command sees an image, not this host"
		return out
	}
	if row.Setup.Online && r.offline != "" {
		out.Status, out.Why = NotApplicable, r.offline
		return out
	}
	if why := r.lacks(row); why != "" {
		out.Status, out.Why = NotTried, why
		return out
	}
	var control observation
	var gaps []sandbox.Gap
	if row.NoControl == "" {
		control, _ = r.observe(row, outdoors)
	}
	inside := observation{}
	if row.NoControl != "" || control.ran && control.open {
		inside, gaps = r.observe(row, indoors)
	}
	return decide(row, control, inside, gaps)
}

func (r *runner) lacks(row Row) string {
	if row.Needs.Visible && r.covered() {
		return "the room lies in a temp directory, which the backend may replace"
	}
	if (row.Needs.Root || row.Setup.Nobody) && os.Geteuid() != 0 {
		return "without a sandbox only root can do it"
	}
	if row.Setup.Rules != "" && r.options.Proxy == "" {
		return "there is no sbx-proxy beside sbx"
	}
	for _, name := range row.Needs.Programs {
		if _, err := lookPath(name, []string{"PATH=" + os.Getenv("PATH")}); err != nil {
			return "there is no program " + name
		}
	}
	if len(row.Procedure) > 0 && strings.HasPrefix(row.Procedure[0], "exec-") && len(r.options.Exec) == 0 {
		return "it is about the command line, which was not given"
	}
	if strings.Contains(strings.Join(append(row.Act, row.Shell), " "), "$RUN") && r.room.sockets == "" {
		return "no directory for sockets can be made in /run"
	}
	if strings.Contains(strings.Join(append(row.Act, row.Shell), " "), "$SHM") && r.room.shm == "" {
		return "there is no /dev/shm"
	}
	return ""
}

// covered: see Base.
func (r *runner) covered() bool {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm", "/run"} {
		if strings.HasPrefix(r.room.base, dir+"/") {
			return true
		}
	}
	return false
}

// observe does the act of a row once.
func (r *runner) observe(row Row, at place) (observation, []sandbox.Gap) {
	if err := r.renew(); err != nil {
		return observation{trouble: err.Error()}, nil
	}
	if len(row.Procedure) > 0 {
		defer r.room.sweep()
		return r.procedure(row, at)
	}
	before := r.room.state()
	done := r.startAs(r.command(row, at), at, row.Setup, way{change: func(o *order) { o.Listen = row.Canary == Caller }}).wait()
	if row.Setup == (Setup{}) && at == indoors && done.plan.Backend != "" {
		r.plan = done.plan
	}
	return r.judge(row, before, done), done.plan.Gaps
}

// renew gives a row a room in which nothing has happened.
func (r *runner) renew() error {
	if err := r.room.fill(); err != nil {
		return err
	}
	r.room.shared.renew()
	return r.room.victim.renew()
}

// command is the argv of a row at a place.
func (r *runner) command(row Row, at place) []string {
	if row.Shell != "" {
		text := "echo reached\n"
		if at == indoors && r.apart { // what was found here need not be in an image
			for _, name := range row.Needs.Programs {
				text += fmt.Sprintf("command -v %[1]s >/dev/null || { echo '%[2]s%[1]s'; exit 0; }\n", name, lacksProgram)
			}
		}
		return []string{"sh", "-c", text + row.Shell}
	}
	words := row.Act
	if at == outdoors && row.ControlAct != nil {
		words = row.ControlAct
	}
	return r.act(words...)
}

// lacksProgram begins a line by which a shell says that a row cannot be tried.
const lacksProgram = "sbx-probe: there is no "

// missingProgram finds such a line.
func missingProgram(out string) (string, bool) {
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), lacksProgram); ok {
			return name, true
		}
	}
	return "", false
}

// act is the argv of an act of the probe program.
func (r *runner) act(words ...string) []string {
	argv := append([]string{r.room.helper()}, r.options.Helper[1:]...)
	return append(append(argv, modeAct), r.expanded(words)...)
}

// expanded puts the places of the room in.
func (r *runner) expanded(words []string) []string {
	vars := r.room.vars()
	list := make([]string, 0, len(words))
	for _, w := range words {
		list = append(list, os.Expand(w, func(name string) string { return vars[name] }))
	}
	return list
}

// judge says what an act came to.
func (r *runner) judge(row Row, before state, d done) observation {
	o := observation{ran: strings.Contains(d.out, strings.TrimSpace(reached)), detail: d.describe()}
	if d.err != "" || !o.ran || d.code == exitSetup && row.Shell == "" {
		return observation{none: d.none, detail: d.describe()}
	}
	if name, ok := missingProgram(d.out); ok {
		return observation{trouble: "inside there is no program " + name}
	}
	if row.Want == Works {
		o.open = d.ending == sandbox.Exited && d.code == 0
		return o
	}
	switch row.Canary {
	case Exit:
		o.open = d.code == 0
	case Caller:
		if o.open = d.caller > 0; o.open {
			o.detail = fmt.Sprintf("the caller got %d signals", d.caller)
		}
	case Secret:
		if o.open = strings.Contains(d.out, r.room.secret); o.open {
			o.detail = "the secret was read"
		} else if d.code == 0 {
			o.detail = "succeeded, and shows something else"
		}
	case Host:
		after := r.room.state()
		if d.code == 0 && len(before.changes(after)) == 0 {
			awaitFor(lateChange, func() bool { after = r.room.state(); return len(before.changes(after)) > 0 })
		}
		if list := before.changes(after); len(list) > 0 {
			o.open, o.detail = true, r.room.shorten(strings.Join(list[:min(len(list), 3)], ", "))
		} else if d.code == 0 {
			o.detail = "succeeded, and nothing changed outside"
		}
	}
	return o
}

// shorten replaces the names of the room, which differ from run to run.
func (r *room) shorten(text string) string {
	pairs := [][2]string{
		{r.ws(), "$W"},
		{r.out(), "$O"},
		{r.home(), "$H"},
		{r.base, "$B"},
		{r.shm, "$SHM"},
		{r.sockets, "$RUN"},
		{r.temp, "$T"},
		{r.varTemp, "$VT"},
		{r.mark, "$MARK"},
		{r.secret, "$SECRET"},
	}
	for _, l := range r.inbox.all {
		if l.port != 0 {
			pairs = append(pairs, [2]string{strconv.Itoa(l.port), "$PORT"})
		}
	}
	for _, pair := range pairs {
		if pair[0] != "" {
			text = strings.ReplaceAll(text, pair[0], pair[1])
		}
	}
	return text
}

// selected lists the rows that were asked for.
func selected(only []string) []Row {
	if len(only) == 0 {
		return Rows()
	}
	var list []Row
	for _, row := range Rows() {
		if slices.ContainsFunc(only, func(o string) bool { return means(o, row.ID) }) {
			list = append(list, row)
		}
	}
	return list
}
