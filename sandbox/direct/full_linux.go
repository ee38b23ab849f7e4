//go:build amd64 || arm64

package direct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// full is one profile under the tiers full and full-noproc.
type full struct {
	profile  sandbox.Profile
	only     variant
	tier     string
	abi      int
	decision decision
	bounds   bound.Bounds
	code     []syscall.SockFilter // the filter
	host     *layout.Host

	mu     sync.RWMutex // runs read, Close writes
	init   *spawn.Init
	closed bool
}

func openFull(b *Backend, p sandbox.Profile) (sandbox.Session, error) {
	return openNamespaces(b, p, tierFull)
}

func openFullNoProc(b *Backend, p sandbox.Profile) (sandbox.Session, error) {
	return openNamespaces(b, p, tierFullNoProc)
}

func openNamespaces(b *Backend, p sandbox.Profile, tier string) (sandbox.Session, error) {
	abi, err := landlockABI()
	if err != nil {
		return nil, err
	}
	s := &full{profile: p, only: b.only, tier: tier, abi: abi, decision: decideFull(abi, p, tier == tierFullNoProc)}
	s.bounds = s.decision.bound(p.Limits, bound.Terms{Full: true, Root: layout.SubjectOf(p).UID == 0, Able: b.only.able})
	s.decision.explained(p, explainGap(p, tier, b.only.thread), carryGap(p, true))
	if s.decision.gaps, err = p.Judge(Name, s.decision.gaps); err != nil {
		return nil, err
	}
	if _, s.code, err = program(s.decision.filters); err != nil {
		return nil, err
	}
	if s.init, err = spawn.NewInit(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	if s.host, err = layout.OpenHost(p); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Close lets go of pid 1's file. Runs that have started go on.
func (s *full) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.init.Close()
}

// Plan says what Run would do.
func (s *full) Plan(c sandbox.Command) (sandbox.Plan, error) {
	c = s.pointed(c)
	spots, hidden, links := s.host.Look("")
	var names *uint64
	p := s.plan(start{c, &spawn.Pipes{}, [3]uintptr{0, 1, 2}, nil, s.sharesTemp(-1), -1, newExplainer(s.profile, s.decision, true), &names}, spots, links)
	if s.profile.Network == sandbox.NetworkRules {
		planGate(p, &spawn.Pipes{}, -1, names)
	}
	p.ExecInit(s.init, &spawn.Pipes{}, "", c.Argv, nil)
	plan := planOf(s.profile, c)
	plan.Tier, plan.Hide, plan.Steps = s.tier, hidden, outline(p)
	plan.Enforced, plan.Gaps = slices.Clone(s.decision.enforced), slices.Clone(s.decision.gaps)
	plan.Protect = slices.Clone(s.profile.Protect)
	return plan, nil
}

// Run starts the command and waits.
func (s *full) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	c = s.pointed(c)
	with := &company{written: &handover{disk: c.Layers, wanted: s.profile.Preview}, explain: newExplainer(s.profile, s.decision, true)}
	result, err := s.run(ctx, c, with)
	result.Layers, err = with.written.end(err)
	result.Backend, result.Tier, result.BackendVersion = Name, s.tier, versionOf(s.abi)
	result.Enforced, result.Gaps = slices.Clone(s.decision.enforced), slices.Clone(s.decision.gaps)
	with.explain.finish(&result)
	result.Identity = s.profile.Identity
	return result, err
}

// company is what goes along with one run.
type company struct {
	hold    *bound.Hold  // what its limits need
	gate    *egress.Gate // its way to the network, when there is one
	written *handover
	explain *explainer // nil: nobody asked
}

func (s *full) run(ctx context.Context, c sandbox.Command, with *company) (sandbox.Result, error) {
	h, err := s.bounds.Open()
	if err != nil {
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}, err
	}
	defer h.Close()
	with.hold = h
	j := proc.Job{
		Command: c, Dir: c.DirIn(s.profile), Supervisor: s.profile.Supervisor, Init: true,
		Spawn: func(path string, files [3]uintptr) (proc.Spawned, error) { return s.spawn(c, path, files, with) },
	}
	s.bounds.Apply(&j, h)
	result, err := proc.Run(ctx, j)
	with.gate.Close(&result)
	return result, err
}

// start is what a plan needs to know of one run.
type start struct {
	command sandbox.Command
	pipes   *spawn.Pipes
	files   [3]uintptr
	hold    *bound.Hold // nil: the plan is only printed
	temp    *tempShare  // nil: nobody looks at the run's file system
	socket  int         // over which a preview hands out its layer; -1: none
	explain *explainer  // nil: nobody asked
	names   **uint64    // set by the plan: where the descriptor of the resolver's socket will be
}

// looks is how often the host is looked at again for one run, when what has to
// be hidden is replaced faster than it can be covered.
const looks = 20

// spawn starts the command. A file that goes away between being found and being
// covered fails the set-up. It may have been replaced, and the new one has to be
// hidden as well, so that all is looked up again.
func (s *full) spawn(c sandbox.Command, program string, files [3]uintptr, with *company) (proc.Spawned, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return proc.Spawned{}, errors.New("session is closed")
	}
	if err := layout.CheckStreams(s.profile, files); err != nil {
		return proc.Spawned{}, err
	}
	for look := 1; ; look++ {
		spawned, err := s.spawnNow(c, program, files, with)
		if look == looks || !vanished(err) {
			return spawned, previewError(stepError(err))
		}
	}
}

// vanished says that a path that was to be hidden lost its name meanwhile, or
// that a file has become a directory.
func vanished(err error) bool {
	var step *spawn.StepError
	return errors.As(err, &step) && strings.HasPrefix(step.Step, stepHide) && (step.Errno == unix.ENOENT || step.Errno == unix.ENOTDIR)
}

func (s *full) spawnNow(c sandbox.Command, program string, files [3]uintptr, with *company) (proc.Spawned, error) {
	pipes, err := spawn.NewPipes(s.pipeUses())
	if err != nil {
		return proc.Spawned{}, err
	}
	temp, err := s.openTemp()
	if err != nil {
		pipes.Close()
		return proc.Spawned{}, err
	}
	if err := with.explain.open(); err != nil {
		pipes.Close()
		temp.close()
		return proc.Spawned{}, err
	}
	defer with.explain.drop()
	spots, _, links := s.host.Look(layout.TerminalOf(files))
	if err := with.written.open(); err != nil {
		pipes.Close()
		temp.close()
		return proc.Spawned{}, err
	}
	defer with.written.shut()
	var names *uint64
	p := s.plan(start{c, pipes, files, with.hold, temp, with.written.child, with.explain, &names}, spots, links)
	way, err := s.openGate(p, pipes, names)
	if err != nil {
		pipes.Close()
		temp.close()
		return proc.Spawned{}, err
	}
	p.ExecInit(s.init, pipes, program, c.Argv, c.Env)
	if s.profile.Identity != nil {
		defer spawn.KeepDumpable()()
	}
	pid, err := p.Start(cloneFlags&^s.only.share, pipes)
	if err != nil {
		way.Kill()
		pipes.Close()
		temp.close()
		return proc.Spawned{}, err
	}
	if err := with.explain.started(s.profile, pid, true, func() rulebook { return layoutRules{spots, frozenOf(s.profile)} }); err != nil {
		way.Kill()
		pipes.Close()
		temp.close()
		return proc.Spawned{}, err
	}
	with.gate = way
	with.written.take()
	ended := func() (proc.Ended, bool) {
		e, ok := pipes.Ending()
		return proc.Ended{Status: syscall.WaitStatus(e.Status), PeakBytes: e.PeakBytes}, ok
	}
	release := func() {
		pipes.Close()
		temp.close()
		layout.Tidy(s.profile, spots)
	}
	usage, err := temp.take()
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, 0, nil)
		release()
		return proc.Spawned{}, &proc.StepError{Step: "look at the temp directory", Err: err}
	}
	return proc.Spawned{PID: pid, Ended: ended, Temp: usage, Release: release}, nil
}

func (s *full) pipeUses() int {
	if s.profile.Identity != nil || s.profile.Network == sandbox.NetworkRules {
		return spawn.WithInit | spawn.WithRelease
	}
	return spawn.WithInit
}

// cloneFlags are the namespaces that only clone can make for the child itself;
// the rest is a step, because clone holds a processor of Go meanwhile.
const cloneFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID

// plan is the table up to what executes pid 1.
func (s *full) plan(run start, spots []layout.Spot, links []layout.Link) *spawn.Plan {
	p, pipes := spawn.NewPlanFor(256), run.pipes
	s.bounds.Enter(p, run.hold)
	if !s.profile.Supervisor {
		p.Call("enter new process group", unix.SYS_SETPGID, []uintptr{0, 0})
	}
	p.Stdio(run.files)
	p.DieWithParent()
	if s.profile.Identity != nil {
		p.AwaitRelease(pipes)
	}
	p.ParentLives(pipes)
	s.planNamespaces(p)
	s.planIdentity(p, pipes)

	m := newMounter(p, spots, s.host.Exact)
	m.init = s.init
	m.size, m.share = bound.TempSize(s.bounds.Limits), run.temp
	if s.profile.Preview != nil {
		m.preview = &layers{Preview: *s.profile.Preview, disk: run.command.Layers, socket: run.socket}
	}
	if layout.SubjectOf(s.profile).UID == 0 {
		m.procFiles = layout.HostProc()
	}
	m.mounts(s.tier == tierFull, links)
	run.explain.planRoot(p)
	if s.profile.Network != sandbox.NetworkHost {
		planLoopback(p)
	}
	if s.profile.Network == sandbox.NetworkRules {
		egress.SecondAddress(p)
		*run.names = egress.BindNames(p)
	}
	p.Call("change directory", unix.SYS_CHDIR, []uintptr{p.Str(run.command.DirIn(s.profile))})
	bound.Usual(p)
	s.bounds.Set(p, run.hold)
	rules := p.NewRef()
	s.planRules(m, rules)
	p.CloseOnExec(pipes.Errors, pipes.Lifeline, pipes.Status)
	planDropBounding(p)
	planNoPrivileges(p)
	p.Call("enter landlock domain", unix.SYS_LANDLOCK_RESTRICT_SELF, nil, spawn.Load(rules))
	run.explain.plan(p)
	planFilter(p, s.decision.filters, s.code)
	p.LeaveOut(s.only.omit)
	return p
}

const mountNamespace = "/proc/self/ns/mnt"

// planNamespaces makes the other namespaces, and proves that the mounts that
// follow cannot be the host's.
func (s *full) planNamespaces(p *spawn.Plan) {
	flags := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
	names := "mount, ipc and host name"
	if s.profile.Network != sandbox.NetworkHost {
		flags |= unix.CLONE_NEWNET
		names = "mount, ipc, host name and network"
	}
	p.Call("make "+names+" namespaces", unix.SYS_UNSHARE, []uintptr{flags &^ s.only.share})
	const ns = mountNamespace
	var mine unix.Stat_t
	if err := unix.Stat(ns, &mine); err != nil {
		mine.Ino = 0
	}
	its := &unix.Stat_t{Ino: mine.Ino}
	p.Call("look at the mount namespace", unix.SYS_NEWFSTATAT, []uintptr{spawn.Cwd, p.Str(ns), spawn.Ptr(p, its), 0})
	p.Differ("SAFETY: it is a new mount namespace", &mine.Ino, &its.Ino)
}

// planIdentity makes the command's user known in the user namespace. Its own
// number is the only one that a process can map by itself; another one is
// mapped by the caller, who is root.
func (s *full) planIdentity(p *spawn.Plan, pipes *spawn.Pipes) {
	if i := s.profile.Identity; i != nil {
		p.AfterClone = func(pid int) error {
			if err := mapIdentity(pid, i); err != nil {
				return err
			}
			return pipes.Release()
		}
		planIdentity(p, i)
		p.DieWithParent() // a change of credentials took it back
		return
	}
	uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	for _, f := range []struct{ name, text string }{
		{"/proc/self/setgroups", "deny"},
		{"/proc/self/uid_map", uid + " " + uid + " 1\n"},
		{"/proc/self/gid_map", gid + " " + gid + " 1\n"},
	} {
		fd := p.NewRef()
		p.Call("open "+f.name, unix.SYS_OPENAT, []uintptr{spawn.Cwd, p.Str(f.name), unix.O_WRONLY | unix.O_CLOEXEC}, spawn.Store(fd))
		p.Call("write "+f.name, unix.SYS_WRITE, []uintptr{0, p.Str(f.text), uintptr(len(f.text))}, spawn.Load(fd))
		// A mount with a file open for writing cannot become read-only.
		p.Call("close "+f.name, unix.SYS_CLOSE, nil, spawn.Load(fd))
	}
}

// mapIdentity maps the numbers of the identity, and no others, to themselves.
func mapIdentity(pid int, i *sandbox.Identity) error {
	dir := "/proc/" + strconv.Itoa(pid)
	gids := []uint32{i.GID}
	for _, g := range i.Groups {
		if !slices.Contains(gids, g) {
			gids = append(gids, g)
		}
	}
	var lines []byte
	for _, g := range gids {
		lines = fmt.Appendf(lines, "%d %d 1\n", g, g)
	}
	if err := os.WriteFile(dir+"/gid_map", lines, 0); err != nil {
		return &proc.StepError{Step: "map groups", Err: err}
	}
	if err := os.WriteFile(dir+"/uid_map", fmt.Appendf(nil, "%d %d 1\n", i.UID, i.UID), 0); err != nil {
		return &proc.StepError{Step: "map user", Err: err}
	}
	return nil
}

// planLoopback brings 127.0.0.1 up.
func planLoopback(p *spawn.Plan) {
	fd := p.NewRef()
	request := &struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{name: [unix.IFNAMSIZ]byte{'l', 'o'}, flags: unix.IFF_UP | unix.IFF_RUNNING}
	p.Call("open a socket for lo", unix.SYS_SOCKET, []uintptr{unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, 0}, spawn.Store(fd))
	p.Call("bring lo up", unix.SYS_IOCTL, []uintptr{0, unix.SIOCSIFFLAGS, spawn.Ptr(p, request)}, spawn.Load(fd))
}

// planRules makes the Landlock ruleset of this run: everything that can be seen
// can be read, and what is writable by mount is by rule.
func (s *full) planRules(m *mounter, rules spawn.Ref) {
	attr := &unix.LandlockRulesetAttr{Handled_access_fs: s.decision.handled, Scoped: s.decision.scoped}
	size := uintptr(8)
	if s.abi >= 6 {
		size = 24
	}
	m.Call("make landlock ruleset", unix.SYS_LANDLOCK_CREATE_RULESET, []uintptr{spawn.Ptr(m.Plan, attr), size, 0}, spawn.Store(rules))
	root := new(pathRule)
	m.Call("open /", unix.SYS_OPENAT, []uintptr{spawn.Cwd, m.Str("/"), unix.O_PATH | unix.O_CLOEXEC}, spawn.Store(m.Word(&root.fd)))
	s.rule(m, rules, "/", root, readRights)
	for i, sp := range m.spots {
		rights := uint64(0)
		switch {
		case sp.Kind == layout.Bind, sp.Kind == layout.Cover: // a pin lies below a bind
			rights = writeRights | readRights
		case sp.Kind == layout.Shut && sp.Path == "/dev":
			rights = writeFile | readFile | ioctlDev
		default:
			continue
		}
		if !sp.Dir {
			rights &= fileRights
		}
		s.rule(m, rules, sp.Path, m.rules[i], rights)
	}
}

// rule adds one rule; its descriptor is known when the plan runs.
func (s *full) rule(m *mounter, rules spawn.Ref, name string, r *pathRule, rights uint64) {
	r.rights = rights & s.decision.handled
	m.Call("landlock rule for "+name, unix.SYS_LANDLOCK_ADD_RULE, []uintptr{0, unix.LANDLOCK_RULE_PATH_BENEATH, spawn.Ptr(m.Plan, r), 0}, spawn.Load(rules))
}
