package container_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox/containerd"
	"github.com/sbx-run/sbx/sandbox/docker"
)

// cli is the engine's own command line.
func (r *room) cli(args ...string) *exec.Cmd {
	switch r.engine {
	case docker.Docker:
		args = append([]string{"--host", host(r.engine)}, args...)
	case containerd.Name:
		return exec.Command("ctr", append([]string{"--address", host(r.engine)}, args...)...)
	}
	return exec.Command(r.engine, args...)
}

// lines is what the command line prints.
func (r *room) lines(args ...string) []string {
	r.Helper()
	out, err := r.cli(args...).Output()
	if err != nil {
		r.Fatalf("%q: %v", args, err)
	}
	return strings.Fields(string(out))
}

// containers are those of the room, whatever they do.
func (r *room) containers() []string {
	r.Helper()
	if r.engine == containerd.Name {
		return r.lines("containers", "ls", "--quiet", `labels."run.sbx.workspace"==`+r.hash())
	}
	return r.lines("ps", "-aq", "--no-trunc", "--filter", "label=run.sbx.workspace="+r.hash())
}

// running are those of them in which something runs.
func (r *room) running() []string {
	r.Helper()
	if r.engine != containerd.Name {
		return r.lines("ps", "-q", "--no-trunc", "--filter", "label=run.sbx.workspace="+r.hash())
	}
	out, err := r.cli("tasks", "ls").Output()
	check(r, err)
	var running []string
	for _, id := range r.containers() {
		for line := range strings.Lines(string(out)) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == id && fields[2] != "STOPPED" {
				running = append(running, id)
			}
		}
	}
	return running
}

// inspect is all that the engine knows of a container.
func (r *room) inspect(id string) []byte {
	r.Helper()
	args := []string{"inspect", id}
	if r.engine == containerd.Name {
		args = []string{"containers", "info", id}
	}
	out, err := r.cli(args...).Output()
	check(r, err)
	return out
}

// create makes a container that is not started.
func (r *room) create(labels ...string) string {
	r.Helper()
	var args []string
	for _, l := range append(labels, "run.sbx.workspace="+r.hash()) {
		args = append(args, "--label", l)
	}
	if r.engine != containerd.Name {
		return r.lines(slices.Concat([]string{"create"}, args, []string{small, "true"})...)[0]
	}
	id := fmt.Sprintf("sbx-test-%s-%d", r.hash(), len(r.containers()))
	r.lines(slices.Concat([]string{"containers", "create"}, args, []string{"docker.io/" + small, id, "true"})...)
	return id
}

// remove takes containers away, as somebody might.
func (r *room) remove(ids ...string) {
	r.Helper()
	if r.engine != containerd.Name {
		check(r, r.cli(append([]string{"rm", "-f"}, ids...)...).Run())
		return
	}
	for _, id := range ids {
		_ = r.cli("tasks", "rm", "--force", id).Run() // there need be none
		check(r, r.cli("containers", "rm", id).Run())
	}
}

// removeImage forgets an image, if it is there.
func (r *room) removeImage(name string) {
	if r.engine == containerd.Name {
		_ = r.cli("images", "rm", name).Run()
		return
	}
	_ = r.cli("rmi", name).Run()
}
