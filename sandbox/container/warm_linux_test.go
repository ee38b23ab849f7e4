package container_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/containerd"
	"github.com/sbx-run/sbx/sandbox/pid1"
	"github.com/sbx-run/sbx/sandbox/warm"
)

// One container serves the commands of a session; each leaves nothing running.
func TestWarmSession(t *testing.T) {
	eachEngine(t, func(r *room) {
		o := options()
		o.Warm = true
		s, err := newBackend(r.engine, o).Open(r.Context(), r.profile)
		check(r, err)
		r.run(s, "sh", "-c", "echo kept >/tmp/x; sleep 600 & setsid sleep 601 & exit 0")
		out, result := r.run(s, "sh", "-c", "cat /tmp/x; ps | grep -c '[s]leep 60'; exit 6")
		if out != "kept\n0\n" || result.ExitCode != 6 || result.Backend != r.engine {
			r.Errorf("%q, %+v", out, result)
		}
		_, result = r.run(s, "sh", "-c", "kill -9 $$")
		if result.Signal != 9 {
			r.Errorf("%+v", result)
		}
		// A command that kills the process that looks after it loses its outcome,
		// and what it started ends all the same.
		if _, err := s.Run(r.Context(), sandbox.Command{Argv: []string{"sh", "-c", "sleep 602 & kill -9 $PPID; sleep 603"}, Env: r.env()}); err == nil {
			r.Error("a lost outcome was reported as known")
		}
		ended := await(func() bool {
			out, _ = r.run(s, "sh", "-c", "ps | grep -c '[s]leep 60'")
			return out == "0\n"
		})
		if !ended {
			r.Errorf("left running: %s", out)
		}
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				out, result := r.run(s, "sh", "-c", fmt.Sprintf("echo %d; exit %d", i, i))
				if out != fmt.Sprintf("%d\n", i) || result.ExitCode != i {
					r.Errorf("%d: %q, %+v", i, out, result)
				}
			})
		}
		group.Wait()
		// Somebody removes the container: the next command gets another.
		r.remove(r.containers()...)
		if out, _ := r.run(s, "sh", "-c", "test -e /tmp/x || echo fresh"); out != "fresh\n" {
			r.Errorf("%q", out)
		}
		check(r, s.Close())
		r.leavesNothing()
	})
}

// A sandbox that is kept is found again by the same profile only.
func TestKeptBetweenProcesses(t *testing.T) {
	eachEngine(t, func(r *room) {
		dir := filepath.Join(r.dir, "sessions")
		b := warm.New(newBackend(r.engine, options()), dir, time.Hour)
		run := func(p sandbox.Profile, text string) string {
			r.Helper()
			s, err := b.Open(r.Context(), p)
			check(r, err)
			defer s.Close()
			out, _ := r.run(s, "sh", "-c", text)
			return out
		}
		run(r.profile, "echo kept >/tmp/x")
		if out := run(r.profile, "cat /tmp/x"); out != "kept\n" {
			r.Errorf("the same profile: %q", out)
		}
		other := r.profile
		other.Write = []string{r.outside}
		if out := run(other, "cat /tmp/x 2>/dev/null || echo another"); out != "another\n" {
			r.Errorf("another profile: %q", out)
		}
		// The workspace is removed and made again: the old mount is not used.
		check(r, os.RemoveAll(r.workspace))
		check(r, os.Mkdir(r.workspace, 0o755))
		if out := run(r.profile, "echo x >made; cat /tmp/x 2>/dev/null || echo another"); out != "another\n" {
			r.Errorf("another workspace of the name: %q", out)
		}
		if _, err := os.Stat(r.workspace + "/made"); err != nil {
			r.Error(err)
		}
		// A runtime's script is another file for each command: no session for it.
		script := filepath.Join(r.dir, "script.sh")
		check(r, os.WriteFile(script, []byte("echo script\n"), 0o644))
		single := r.profile
		single.Read = []string{script}
		if out := run(single, "sh "+script); out != "script\n" {
			r.Errorf("script: %q", out)
		}
		list, err := warm.List(dir)
		check(r, err)
		if len(list) != 2 {
			r.Errorf("%d sessions", len(list))
		}
		for _, kept := range list {
			check(r, warm.Stop(r.Context(), b, kept))
		}
		if list, err = warm.List(dir); err != nil || len(list) != 0 {
			r.Errorf("after stop: %v, %v", list, err)
		}
		r.leavesNothing()
	})
}

// Many that begin together start one sandbox.
func TestOneStartForMany(t *testing.T) {
	eachEngine(t, func(r *room) {
		dir := filepath.Join(r.dir, "sessions")
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				b := warm.New(newBackend(r.engine, options()), dir, time.Hour)
				s, err := b.Open(r.Context(), r.profile)
				if err != nil {
					r.Error(err)
					return
				}
				defer s.Close()
				r.run(s, "true")
			})
		}
		group.Wait()
		list, err := warm.List(dir)
		check(r, err)
		if len(list) != 1 {
			r.Errorf("%d sessions", len(list))
		}
		for _, kept := range list {
			check(r, warm.Stop(r.Context(), newBackend(r.engine, options()), kept))
		}
		r.leavesNothing()
	})
}

func TestIdleSessionEnds(t *testing.T) {
	eachEngine(t, func(r *room) {
		dir := filepath.Join(r.dir, "sessions")
		b := warm.New(newBackend(r.engine, options()), dir, 3*time.Second)
		s, err := b.Open(r.Context(), r.profile)
		check(r, err)
		list, err := warm.List(dir)
		check(r, err)
		if len(list) != 1 || len(r.running()) != 1 {
			r.Fatalf("%d sessions, running %q", len(list), r.running())
		}
		if _, result := r.run(s, "sleep", "4"); result.ExitCode != 0 { // longer than the session waits, and in use
			r.Errorf("%+v", result)
		}
		check(r, s.Close())
		if !await(func() bool { return len(r.running()) == 0 }) {
			r.Errorf("running: %q", r.running())
		}
		if r.engine == containerd.Name { // which keeps what has ended until somebody takes it away
			r.run(r.open(), "true")
		}
		r.leavesNothing()
		if conn, err := pid1.DialAt(filepath.Join(dir, list[0].Key)); err == nil {
			_ = conn.Close()
			r.Error("it still takes commands")
		}
	})
}

// The profile decides about a session as it does about a single run.
func TestSessionRefuses(t *testing.T) {
	eachEngine(t, func(r *room) {
		r.profile.Required = append(sandbox.DefaultRequired(), sandbox.HooksProtected)
		b := warm.New(newBackend(r.engine, options()), filepath.Join(r.dir, "sessions"), time.Hour)
		if _, err := b.Open(r.Context(), r.profile); err == nil || !strings.Contains(err.Error(), "hooks-protected") {
			r.Error(err)
		}
		r.leavesNothing()
	})
}
