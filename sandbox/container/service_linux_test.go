package container_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/docker"
)

// TestServiceKilled kills the `podman system service` that a session has started:
// the command ends as it would have, the next one is refused in a sentence, and
// nothing stays, whoever else is killed with it.
func TestServiceKilled(t *testing.T) {
	t.Run(docker.Podman, func(t *testing.T) {
		r := newRoom(t, docker.Podman)
		ready := r.workspace + "/ready"
		s, err := r.backend().Open(r.Context(), r.profile)
		check(r, err)
		r.run(s, "true") // the control
		type outcome struct {
			sandbox.Result
			error
		}
		done := make(chan outcome, 1)
		var out bytes.Buffer
		go func() {
			result, err := s.Run(r.Context(), sandbox.Command{
				Argv: []string{"sh", "-c", "touch ready; while test -e ready; do sleep 0.05; done; echo on; exit 7"}, Env: r.env(), Stdout: &out, Timeout: longest,
			})
			done <- outcome{result, err}
		}()
		r.appears(ready)
		r.killService()
		check(r, os.Remove(ready))
		if o := <-done; o.error != nil || o.ExitCode != 7 || o.Ending != sandbox.Exited || out.String() != "on\n" {
			r.Errorf("%+v, %q", o, out.String())
		}
		result, err := s.Run(r.Context(), sandbox.Command{Argv: []string{"touch", "ran"}, Env: r.env(), Timeout: longest})
		if text := r.refusal(&result, err); !strings.Contains(text, "was stopped meanwhile") {
			r.Errorf("%s", text)
		}
		if there(r.workspace + "/ran") {
			r.Error("it ran")
		}
		check(r, s.Close())
		r.leavesNothing()

		c := r.victim()
		r.killService()
		check(r, c.Process.Kill())
		_ = c.Wait()
		r.gone()
		r.sweptByNext()
	})
}

// killService kills the services that were started for the room.
func (r *room) killService() {
	r.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	check(r, err)
	killed := 0
	for _, line := range lines {
		text, _ := os.ReadFile(line)
		if !strings.Contains(string(text), "\x00service\x00") || !strings.Contains(string(text), "unix://"+r.dir+"/") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		check(r, err)
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		r.Fatal("no service of the room is seen")
	}
}
