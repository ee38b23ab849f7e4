//go:build amd64 || arm64

package firejail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/accounts"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bound"
	"github.com/sbx-run/sbx/sandbox/cgroup"
	"github.com/sbx-run/sbx/sandbox/filter"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
	"github.com/sbx-run/sbx/sandbox/under"
)

// session is one profile.
type session struct {
	profile sandbox.Profile
	program string // firejail
	host    *layout.Host
	bounds  bound.Bounds
	filter  []byte
	homes   []string
	decision

	mu     sync.RWMutex // runs read, Close writes
	init   *spawn.Init
	closed bool
}

// Open prepares a session.
func (b *Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	if i := p.Identity; i != nil && os.Geteuid() != 0 && i.UID != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("run as user %d: only root can: %w", i.UID, sandbox.ErrUnavailable)
	}
	for _, tier := range []string{p.Tier, p.MinTier} {
		if tier != "" {
			return nil, fmt.Errorf("no tier %q of the backend %s: %w", tier, Name, sandbox.ErrUnavailable)
		}
	}
	s := &session{profile: p, program: b.program}
	var err error
	if s.program == "" {
		if s.program, err = proc.Tool("firejail", os.Getenv("PATH"), p); err != nil {
			return nil, fmt.Errorf("find firejail (Debian package firejail): %w: %w", err, sandbox.ErrUnavailable)
		}
	}
	if err = s.decide(); err != nil {
		return nil, err
	}
	if s.filter, err = filter.Programs(s.filters); err != nil {
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	if s.host, err = layout.OpenHost(p); err != nil {
		return nil, err
	}
	if s.homes, err = homes(layout.SubjectOf(p).UID, p); err != nil {
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	if s.init, err = under.NewInit(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, sandbox.ErrUnavailable)
	}
	return s, nil
}

func (s *session) decide() error {
	d := decide(s.profile, facts{links: slices.ContainsFunc(s.profile.Protect, isLink), follows: follows(), scoped: under.Scopes()})
	b, gaps := bound.Of(s.profile.Limits, bound.Terms{
		Root: layout.SubjectOf(s.profile).UID == 0, TempFix: other, Able: func(w cgroup.Want) cgroup.Want { return cgroup.Host{}.Able(w) },
	})
	d.gaps = append(d.gaps, gaps...)
	d.enforced = append(d.enforced, s.profile.Limits.Kept(gaps)...)
	judged, err := s.profile.Judge(Name, d.gaps)
	if err != nil {
		return err
	}
	d.gaps = judged
	s.decision, s.bounds = d, b
	s.profile.Limits = b.Limits // what is missing was accepted
	return nil
}

// follows is the fact of that name. What cannot be read is not better.
func follows() bool {
	text, err := os.ReadFile("/proc/self/mountinfo")
	return os.Geteuid() != 0 && (err != nil || layout.Propagates(string(text)))
}

// homes lists the homes of a user that firejail shows writable: the one of the
// passwd file, and those that the profile names.
func homes(uid uint32, p sandbox.Profile) ([]string, error) {
	var list []string
	add := func(home string) {
		if real, err := filepath.EvalSymlinks(home); err == nil && filepath.IsAbs(real) && real != "/" && !slices.Contains(list, real) {
			list = append(list, real)
		}
	}
	text, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return nil, err
	}
	known := false
	for line := range strings.Lines(string(text)) {
		if u, ok := accounts.ParseUser(line); ok && u.UID == uid {
			known = true
			add(u.Home)
		}
	}
	if !known {
		return nil, fmt.Errorf("firejail runs for nobody who is not in /etc/passwd, and user %d is not: use %s", uid, other)
	}
	add(p.Home)
	if p.Identity != nil {
		add(p.Identity.Home)
	}
	return list, nil
}

// Close lets go of our process's file. Runs that have started go on.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return s.init.Close()
}

// Plan says what Run would do.
func (s *session) Plan(c sandbox.Command) (sandbox.Plan, error) {
	sc, hidden := s.look()
	steps, err := options(s.profile, sc)
	if err != nil {
		return sandbox.Plan{}, err
	}
	plan := proc.PlanOf(Name, s.profile, c)
	plan.Steps = steps
	plan.Write, plan.Hide, plan.Protect = layout.Writable(s.profile), hidden, slices.Clone(s.profile.Protect)
	plan.Enforced, plan.Gaps = slices.Clone(s.enforced), slices.Clone(s.gaps)
	return plan, nil
}

// look is the scene of a run.
func (s *session) look() (scene, []string) {
	spots, hidden, _ := s.host.Look("")
	sc := scene{spots: spots, homes: s.homes, isLink: isLink}
	const nobody = 65534 // is refused by firejail itself, whatever belongs to him
	if uid := layout.SubjectOf(s.profile).UID; uid != 0 && uid != nobody {
		sc.foreign = func(name string) bool {
			var st unix.Stat_t
			return unix.Stat(name, &st) == nil && st.Uid != uid
		}
	}
	if entries, err := os.ReadDir("/run"); err == nil {
		for _, e := range entries {
			if e.Type() != os.ModeSymlink {
				sc.run = append(sc.run, e.Name())
			}
		}
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		sc.mounts = slices.DeleteFunc(mountsIn(string(text)), func(at string) bool {
			return unix.Access(at, unix.F_OK) != nil // nor can firejail
		})
	}
	return sc, hidden
}

func isLink(name string) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// Run starts the command and waits.
func (s *session) Run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	result, err := s.run(ctx, c)
	result.Backend, result.BackendVersion = Name, s.program
	result.Enforced, result.Gaps = slices.Clone(s.enforced), slices.Clone(s.gaps)
	result.Identity = s.profile.Identity
	return result, err
}

func (s *session) run(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	h, err := s.bounds.Open()
	if err != nil {
		return sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}, err
	}
	defer h.Close()
	j := proc.Job{
		Command: c, Dir: c.DirIn(s.profile), Supervisor: s.profile.Supervisor, Init: true,
		Spawn: func(path string, streams [3]uintptr) (proc.Spawned, error) { return s.spawn(c, h, path, streams) },
	}
	s.bounds.Apply(&j, h)
	return proc.Run(ctx, j)
}

// looks is how often a run is tried, when the host changes meanwhile.
const looks = 20

// passes says that the same may go well the next time: files or mounts of the host
// changed meanwhile.
func passes(err error) bool {
	var changed *changedError
	var setup *under.SetupError
	return errors.As(err, &changed) || errors.As(err, &setup) && strings.Contains(setup.Said, " mount")
}

func (s *session) spawn(c sandbox.Command, h *bound.Hold, path string, streams [3]uintptr) (proc.Spawned, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return proc.Spawned{}, errors.New("session is closed")
	}
	home := "/" // of a user whose own does not exist
	if len(s.homes) > 0 {
		home = s.homes[0]
	}
	for look := 1; ; look++ {
		sc, _ := s.look()
		u := under.Run{
			Init: s.init, Profile: s.profile, Command: c, Path: path, Dir: c.DirIn(s.profile), Streams: streams, Filter: s.filter,
			Bounds: s.bounds, Hold: h, Program: s.program, Tidies: true, // /run/firejail
			Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home},
			Options: func(r *under.Run) ([]string, error) {
				list, err := options(s.profile, sc)
				return append([]string{"firejail", keep(r.Descriptors())}, list...), err
			},
			Ready: func(r *under.Run, program int) (pid int, err error) {
				pid = lowest(program)
				if os.Geteuid() == 0 {
					if _, err := under.Apart(pid); err != nil {
						return pid, err
					}
				}
				r.Writable, err = s.check(pid, sc)
				return pid, err
			},
		}
		spawned, err := u.Start(func() {})
		if err == nil || look == looks || !passes(err) {
			return spawned, err
		}
	}
}
