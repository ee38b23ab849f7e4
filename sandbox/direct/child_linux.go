//go:build amd64 || arm64

package direct

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// job starts the command from a child that confines itself.
func (s *session) job(rules *held, c sandbox.Command, env environ, h *bound.Hold, x *explainer) proc.Job {
	if s.only.thread {
		return s.threadJob(rules.fd, c)
	}
	return proc.Job{
		Command: c, Dir: c.DirIn(s.profile), Supervisor: s.profile.Supervisor, Late: env != nil,
		Spawn: func(path string, files [3]uintptr) (proc.Spawned, error) {
			find := s.program(path, c, env)
			if err := x.open(); err != nil {
				return proc.Spawned{}, err
			}
			defer x.drop()
			if s.profile.Identity != nil {
				defer spawn.KeepDumpable()()
			}
			pid, err := s.child(rules, find, files, c, h, x)
			if errors.Is(err, errStale) { // nothing of the command ran
				if err = rules.renew(); err != nil {
					return proc.Spawned{}, fmt.Errorf("prepare run: %w", err)
				}
				pid, err = s.child(rules, find, files, c, h, x)
			}
			if err != nil {
				return proc.Spawned{}, stepError(err)
			}
			return proc.Spawned{PID: pid}, x.started(s.profile, pid, false, func() rulebook { return s.rulebook(rules.ruleset) })
		},
	}
}

// program gives what the child executes, and its environment.
func (s *session) program(path string, c sandbox.Command, late environ) func() (string, []string, error) {
	if late == nil {
		return func() (string, []string, error) { return path, c.Env, nil }
	}
	late = sync.OnceValues(late)
	return func() (string, []string, error) {
		env, err := late()
		if err != nil {
			return "", nil, err
		}
		path, err := proc.Find(c.Argv[0], env, c.DirIn(s.profile))
		return path, env, err
	}
}

// child starts the command once. Whether the rules are still those of the host's
// files is looked up while the child gets ready, and so is what it executes.
func (s *session) child(rules *held, find func() (string, []string, error), files [3]uintptr, c sandbox.Command, h *bound.Hold, x *explainer) (pid int, err error) {
	pipes, err := spawn.NewPipes(0)
	if err != nil {
		return 0, err
	}
	defer pipes.Close()
	plan, latch := s.childPlan(rules.fd, files, c, h, x)
	exec := plan.ExecLater()
	plan.AfterClone = func(int) error {
		if !rules.fresh() {
			return errStale
		}
		path, env, err := find()
		if err != nil {
			return err
		}
		exec(path, c.Argv, env)
		latch.Open()
		return nil
	}
	return plan.Start(0, pipes)
}

// spawns says whether the command is started by way of a table of steps.
func (s *session) spawns() bool { return !s.only.thread }

// stepError translates the error of a child's step.
func stepError(err error) error {
	var step *spawn.StepError
	if errors.As(err, &step) {
		return &proc.StepError{Step: step.Step, Err: step.Errno}
	}
	return err
}

func (s *session) describe(c sandbox.Command) []string {
	if s.only.thread {
		return s.describeThread()
	}
	p, _ := s.childPlan(-1, [3]uintptr{0, 1, 2}, c, nil, newExplainer(s.profile, s.decision, false))
	p.Exec("", nil, nil)
	return outline(p)
}

// childPlan is the table up to what executes the command, and what lets it go on to
// that.
func (s *session) childPlan(ruleset int, files [3]uintptr, c sandbox.Command, h *bound.Hold, x *explainer) (*spawn.Plan, spawn.Latch) {
	p := spawn.NewPlanFor(80)
	s.bounds.Enter(p, h)
	if !s.profile.Supervisor {
		p.Call("enter new process group", unix.SYS_SETPGID, []uintptr{0, 0})
	}
	if dropsBounding() {
		planDropBounding(p)
	}
	if i := s.profile.Identity; i != nil {
		planIdentity(p, i)
	}
	p.DieWithParent()
	p.ParentIsHere()
	p.Stdio(files)
	p.Call("change directory", unix.SYS_CHDIR, []uintptr{p.Str(c.DirIn(s.profile))})
	bound.Usual(p)
	s.bounds.Set(p, h)
	p.CloseOnExec()
	planNoPrivileges(p)
	wait := func() spawn.Latch { return p.Wait("wait until the rules are known to hold") }
	var latch spawn.Latch
	if x != nil { // a child that is given up must have handed nothing over
		latch = wait()
	}
	p.Call("enter landlock domain", unix.SYS_LANDLOCK_RESTRICT_SELF, []uintptr{uintptr(ruleset), 0})
	x.plan(p)
	planFilter(p, s.decision.filters, s.code)
	if x == nil { // all of that while the caller looks
		latch = wait()
	}
	p.LeaveOut(s.only.omit)
	return p, latch
}

// dropsBounding says whether this thread, and with it a child in the same user
// namespace, can drop something from the bounding set: without CAP_SETPCAP each of
// the calls fails. In doubt they are made.
func dropsBounding() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	err := unix.Capget(&header, &have[0])
	return err != nil || have[0].Effective&(1<<unix.CAP_SETPCAP) != 0
}

// planDropBounding needs a capability itself; without it there is nothing to
// drop for, see dropBounding.
func planDropBounding(p *spawn.Plan) { p.Include(boundingDrops()) }

var boundingDrops = sync.OnceValue(func() *spawn.Plan {
	p := spawn.NewPlanFor(unix.CAP_LAST_CAP + 1)
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		p.Call("drop the bounding set of capabilities", unix.SYS_PRCTL, []uintptr{unix.PR_CAPBSET_DROP, c}, spawn.IgnoreError)
	}
	return p
})

// planIdentity changes the credentials.
func planIdentity(p *spawn.Plan, i *sandbox.Identity) { p.Become(i.UID, i.GID, i.Groups) }

func planNoPrivileges(p *spawn.Plan) {
	p.Call("set no_new_privs", unix.SYS_PRCTL, []uintptr{unix.PR_SET_NO_NEW_PRIVS, 1})
	p.Call("clear ambient capabilities", unix.SYS_PRCTL, []uintptr{unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL})
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	p.Call("drop capabilities", unix.SYS_CAPSET, []uintptr{spawn.Ptr(p, &header), spawn.Ptr(p, new([2]unix.CapUserData))})
}

func planFilter(p *spawn.Plan, names []string, code []syscall.SockFilter) {
	prog := &syscall.SockFprog{Len: uint16(len(code)), Filter: unsafe.SliceData(code)}
	p.Call("load system call filter "+strings.Join(names, "+"), unix.SYS_SECCOMP, []uintptr{unix.SECCOMP_SET_MODE_FILTER, 0, spawn.Ptr(p, prog)})
}

// outline is the list of steps for people: rows of the same kind become one.
func outline(p *spawn.Plan) []string {
	var names []string
	last := ""
	for _, name := range p.Steps() {
		kind := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r >= '0' && r <= '9' }), "")
		if kind != last {
			names = append(names, name)
		} else if kind != name {
			names[len(names)-1] = strings.TrimSuffix(names[len(names)-1], " …") + " …"
		}
		last = kind
	}
	return names
}

// tried confines a child and lets it try what must not work.
func (s *session) tried(ruleset int) error {
	if s.only.thread {
		return s.tryThread(ruleset)
	}
	if err := control(); err != nil {
		return err
	}
	return stepError(tryChild(func(p *spawn.Plan) {
		p.Call("enter landlock domain", unix.SYS_LANDLOCK_RESTRICT_SELF, []uintptr{uintptr(ruleset), 0})
		planFilter(p, s.decision.filters, s.code)
		p.Call("open /dev/null for writing, confined", unix.SYS_OPENAT, []uintptr{spawn.Cwd, p.Str("/dev/null"), unix.O_WRONLY}, spawn.Want(unix.EACCES))
		p.Call("make a unix socket, confined", unix.SYS_SOCKET, []uintptr{unix.AF_UNIX, unix.SOCK_STREAM, 0}, spawn.Want(unix.EPERM))
		p.Call("io_uring_setup", unix.SYS_IO_URING_SETUP, []uintptr{0, 0}, spawn.Want(unix.ENOSYS))
	}))
}

// tryChild starts a child without privileges that goes through the steps and ends.
func tryChild(steps func(p *spawn.Plan)) error {
	pipes, err := spawn.NewPipes(0)
	if err != nil {
		return err
	}
	defer pipes.Close()
	p := spawn.NewPlan()
	p.DieWithParent()
	p.ParentIsHere()
	planNoPrivileges(p)
	steps(p)
	p.Call("end", unix.SYS_EXIT_GROUP, []uintptr{0})
	return onThread(func() error {
		pid, err := p.Start(0, pipes)
		if err == nil {
			_, err = unix.Wait4(pid, nil, 0, nil)
		}
		return err
	})
}

// onThread keeps the thread while fn runs: the child gets SIGKILL when it ends.
func onThread(fn func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return fn()
}
