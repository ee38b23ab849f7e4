//go:build amd64 || arm64

package probes

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// command line rows run `sbx exec` as a user or an agent runtime does.

type execDone struct {
	code int
	out  string // standard output
	text string // standard error
}

// exec runs `sbx exec` with flags, a home and a cache of the room.
func (r *runner) exec(env, flags []string, argv ...string) execDone {
	ctx, cancel := context.WithTimeout(r.ctx, longest)
	defer cancel()
	words := slices.Concat(r.options.Exec[1:], flags, []string{"--"}, argv)
	c := exec.CommandContext(ctx, r.options.Exec[0], words...)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.room.home(), "XDG_CACHE_HOME=" + r.room.base + "/private/cache"}, slices.Concat(r.options.Environ, env)...)
	c.Dir = "/"
	var out, text bytes.Buffer
	c.Stdout, c.Stderr = &out, &text
	err := c.Run()
	var exit *exec.ExitError
	d := execDone{out: out.String(), text: strings.TrimSpace(text.String())}
	if errors.As(err, &exit) {
		d.code = exit.ExitCode()
	} else if err != nil {
		d.code, d.text = -1, err.Error()
	}
	return d
}

// execRefuses tries workspaces that would confine nothing. The control: with
// the right one the same call runs.
func (r *runner) execRefuses(at place) observation {
	flags := []string{"--backend", r.backend}
	call := func(ws string) execDone {
		return r.exec([]string{"PEPE_SANDBOX_CWD=" + ws}, flags, "sh", "-c", "echo reached")
	}
	if at == outdoors {
		d := call(r.room.ws())
		return observation{ran: true, open: d.out == reached, detail: r.room.shorten(d.text)}
	}
	file, broken := r.room.ws()+"/own", r.room.base+"/run/broken"
	_ = os.Remove(broken)
	if err := os.Symlink(r.room.base+"/absent", broken); err != nil {
		return observation{trouble: err.Error()}
	}
	for _, ws := range []string{
		"", "/", "relative", "/tmp", "/etc", "/etc/..", "/usr", "/home", "/proc", r.room.home(), r.room.home() + "/.ssh",
		r.room.home() + "/.config", r.room.base, r.room.base + "/absent", file, broken,
	} {
		if d := call(ws); d.code != 125 || d.out != "" {
			return observation{ran: true, open: true, detail: r.room.shorten("workspace " + ws + " was accepted: " + d.text)}
		}
	}
	return observation{ran: true, detail: "refused, each of 16"}
}

// execLink names the workspace by a link.
func (r *runner) execLink() observation {
	link, made := r.room.base+"/run/link", r.room.ws()+"/by-link"
	_ = os.Remove(link)
	if err := os.Symlink(r.room.ws(), link); err != nil {
		return observation{trouble: err.Error()}
	}
	d := r.exec(nil, []string{"--backend", r.backend, "--workspace", link}, "sh", "-c", "echo x >by-link")
	_, err := os.Stat(made)
	if d.code == 0 && err == nil {
		return observation{ran: true, open: true}
	}
	return d.judged(r.room)
}

// judged is of a run that was to work: 125 and no output is a refusal.
func (d execDone) judged(room *room) observation {
	refused := d.code == 125 && d.out == ""
	return observation{ran: !refused, none: refused, detail: room.shorten(d.text)}
}

// execEnvironment hands a variable to sbx and looks for it inside.
func (r *runner) execEnvironment(row Row, at place) observation {
	name := row.Procedure[1]
	env := []string{name + "=" + r.room.secret}
	argv := r.act("environment", name)
	var d execDone
	if at == outdoors {
		c := exec.CommandContext(r.ctx, argv[0], argv[1:]...)
		c.Env = env
		out, err := c.CombinedOutput()
		if err != nil {
			d.code = 1
		}
		d.out = string(out)
	} else {
		d = r.exec(env, []string{"--backend", r.backend, "--workspace", r.room.ws()}, argv...)
	}
	if !strings.Contains(d.out, strings.TrimSpace(reached)) {
		return observation{none: d.judged(r.room).none, detail: r.room.shorten(d.text)}
	}
	return observation{ran: true, open: strings.Contains(d.out, r.room.secret), detail: r.room.shorten(strings.TrimSpace(strings.TrimPrefix(d.out, reached)))}
}

// execBackend asks for a backend that does not exist.
func (r *runner) execBackend(at place) observation {
	name := "sbx-absent"
	if at == outdoors { // the control: with the right name it runs
		name = r.backend
	}
	d := r.exec(nil, []string{"--backend", name, "--workspace", r.room.ws()}, "sh", "-c", "echo reached")
	if d.out == reached {
		return observation{ran: true, open: true}
	}
	return observation{ran: true, open: at == indoors && d.code != 125, detail: r.room.shorten(d.text)}
}
