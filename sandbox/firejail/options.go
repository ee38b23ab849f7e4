package firejail

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
)

// scene is what the options of one run depend on beside the profile.
type scene struct {
	spots  []layout.Spot
	run    []string // what lies in /run, without links
	mounts []string // of the host, that can be written: firejail makes / read-only, and nothing that is mounted below
	homes  []string // that firejail shows writable: of its user
	isLink func(string) bool
	// foreign says that something belongs to another user than the command's; nil:
	// all may be written.
	foreign func(string) bool
}

// refusedName is the error of a path that firejail would take for something else
// or not at all.
type refusedName struct{ path string }

func (e *refusedName) Error() string {
	return fmt.Sprintf("firejail takes no path with one of the characters in %q: rename it, or use %s", e.path, other)
}

// plainName says that firejail takes a path as it is written: it reads patterns
// and macros in it, and refuses other characters.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c < ' ' || c >= 0x7f || strings.IndexByte(`\&!?"'<>%^(){}[];,*|$`+"`~#", c) >= 0 {
			return false
		}
	}
	return !strings.HasSuffix(name, " ") && !strings.Contains(name, "..")
}

// options is what firejail is told. It carries path options out in their order.
// It is pure.
func options(p sandbox.Profile, s scene) ([]string, error) {
	list := []string{
		"--quiet", "--noprofile", "--deterministic-exit-code", "--deterministic-shutdown",
		"--caps.drop=all", "--nonewprivs", "--ipc-namespace", "--private-dev",
		// Devices that --private-dev shows beside those of the layout.
		"--no3d", "--nodvd", "--noinput", "--nosound", "--notv", "--nou2f", "--novideo",
	}
	if p.Network == sandbox.NetworkNone {
		list = append(list, "--net=none")
	}
	shown := false
	for _, spot := range s.spots {
		if inTemp(spot) {
			shown = true
			list = append(list, "--whitelist="+spot.Path)
		}
	}
	if !shown {
		list = append(list, "--private-tmp")
	}
	list = append(list, "--read-only=/")
	if p.UnixAllow { // not covered then, and firejail leaves it as it is
		list = append(list, inRun(s, "--read-only=")...)
	}
	for _, at := range s.mounts {
		if !s.decides(at) {
			list = append(list, "--read-only="+at)
		}
	}
	for _, home := range s.homes {
		list = append(list, "--read-only="+home)
	}
	for _, spot := range s.spots {
		option, err := optionOf(spot, s)
		if err != nil {
			return nil, err
		}
		list = append(list, option...)
	}
	for _, o := range list {
		if _, name, ok := strings.Cut(o, "=/"); ok && !plainName(name) {
			return nil, &refusedName{"/" + name}
		}
	}
	return list, nil
}

// decides says that the spots say what becomes of a mount: it is below one that the
// command may write, or that is covered.
func (s scene) decides(at string) bool {
	spot := layout.Nearest(s.spots, at)
	return spot != nil && (spot.Writable() && spot.From == "" || spot.Kind == layout.Mask || spot.Kind == layout.Shut)
}

// mountsIn lists the mount points of a mountinfo (proc_pid_mountinfo(5)) that can be
// written, without those in places that firejail makes anew or covers.
func mountsIn(text string) (list []string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasPrefix(fields[5], "rw") || strings.HasPrefix(fields[len(fields)-1], "ro") {
			continue
		}
		at := layout.Unescape(fields[4])
		if at != "/" && !slices.ContainsFunc([]string{"/dev", "/proc", "/run", "/sys", "/tmp", "/var/tmp"}, func(own string) bool { return layout.IsBelow(at, own) }) {
			list = append(list, at)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// optionOf is the option for one spot; none where firejail does it anyway.
func optionOf(spot layout.Spot, s scene) ([]string, error) {
	at := spot.Path
	switch {
	case spot.Path == "/tmp", spot.Path == "/var/tmp", layout.IsBelow(at, "/dev"):
		if spot.Kind == layout.Bind && spot.From == "" {
			return nil, fmt.Errorf("firejail shows its own %s: a workspace or writable path there needs %s: %w", at, other, sandbox.ErrStart)
		}
		return nil, nil
	case layout.IsBelow(at, "/var/tmp"):
		return nil, fmt.Errorf("firejail shows its own /var/tmp, without %s: put it elsewhere, or use %s: %w", at, other, sandbox.ErrStart)
	case at == "/run":
		return inRun(s, "--blacklist="), nil
	case spot.Kind == layout.Guard && s.isLink(at):
		return nil, nil
	}
	if (spot.Kind == layout.Bind || spot.Kind == layout.Pin) && s.foreign != nil && s.foreign(at) {
		return nil, fmt.Errorf("firejail makes nothing writable that belongs to others, as %s does: give it to the command's user, or use %s: %w", at, other, sandbox.ErrStart)
	}
	switch spot.Kind {
	case layout.Mask:
		return []string{"--blacklist=" + at}, nil
	case layout.Shut:
		return []string{"--blacklist=" + at}, nil
	case layout.Bind:
		return []string{"--read-write=" + at}, nil
	case layout.Pin: // what is writable already is no mount of its own
		return []string{"--read-only=" + at, "--read-write=" + at}, nil
	case layout.Guard:
		return []string{"--read-only=" + at}, nil
	case layout.View:
		return nil, nil
	}
	return nil, fmt.Errorf("firejail cannot make %s empty: %w", at, sandbox.ErrStart)
}

// inRun is an option for what lies in /run. Firejail keeps files of its own there, and what
// the layout shows stays.
func inRun(s scene, option string) []string {
	var list []string
	for _, name := range s.run {
		at := "/run/" + name
		needed := slices.ContainsFunc(s.spots, func(spot layout.Spot) bool {
			return spot.Path != "/run" && layout.IsBelow(spot.Path, at)
		})
		if name != "firejail" && !needed {
			list = append(list, option+at)
		}
	}
	return list
}

// inTemp says that a spot is shown in a /tmp that is the command's own.
func inTemp(s layout.Spot) bool {
	shows := s.Kind == layout.View || s.Kind == layout.Bind
	return shows && s.Path != "/tmp" && layout.IsBelow(s.Path, "/tmp")
}

// keep lists the descriptors that firejail leaves open.
func keep(fds []int) string {
	words := make([]string, len(fds))
	for i, fd := range fds {
		words[i] = strconv.Itoa(fd)
	}
	return "--keep-fd=" + strings.Join(words, ",")
}
