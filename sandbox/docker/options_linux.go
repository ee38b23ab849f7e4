package docker

import (
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/google/shlex"
	api "github.com/moby/moby/api/types/container"
)

// engineOption is one option of the engine's run command that may be passed on.
type engineOption struct {
	name string
	set  func(value string, c *api.Config, h *api.HostConfig) error
	why  string
}

// engineOptions confine, or change what only the command itself sees.
func engineOptions() []engineOption {
	return []engineOption{
		{"network", setNetwork, "a network of the engine instead of its default one"},
		{"dns", func(v string, _ *api.Config, h *api.HostConfig) error {
			at, err := netip.ParseAddr(v)
			h.DNS = append(h.DNS, at)
			return err
		}, "which server resolves names"},
		{"dns-search", func(v string, _ *api.Config, h *api.HostConfig) error {
			h.DNSSearch = append(h.DNSSearch, v)
			return nil
		}, "how names are completed"},
		{"add-host", func(v string, _ *api.Config, h *api.HostConfig) error {
			if !strings.Contains(v, ":") {
				return fmt.Errorf("it is NAME:ADDRESS")
			}
			h.ExtraHosts = append(h.ExtraHosts, v)
			return nil
		}, "a name of the command's own; reaching the address is a matter of the network"},
		{"hostname", func(v string, c *api.Config, _ *api.HostConfig) error {
			c.Hostname = v
			return nil
		}, "the name of the container"},
		{"shm-size", func(v string, _ *api.Config, h *api.HostConfig) (err error) {
			h.ShmSize, err = parseBytes(v)
			return err
		}, "shared memory, which counts as memory of the container"},
		{"cpuset-cpus", func(v string, _ *api.Config, h *api.HostConfig) error {
			h.CpusetCpus = v
			return nil
		}, "which processors"},
		{"memory-reservation", func(v string, _ *api.Config, h *api.HostConfig) (err error) {
			h.MemoryReservation, err = parseBytes(v)
			return err
		}, "a softer limit"},
		{"ulimit", setUlimit, "limits of single processes"},
		{"cgroup-parent", func(v string, _ *api.Config, h *api.HostConfig) error {
			h.CgroupParent = v
			return nil
		}, "where the engine accounts for it"},
	}
}

// widening are options that give what a sandbox takes away, with what to use
// instead.
var widening = [...]struct{ name, instead string }{
	{"privileged", "it gives the command the whole machine"},
	{"cap-add", "a command runs without capabilities"},
	{"security-opt", "it switches the confinement off"},
	{"device", "a device is a door to hardware"},
	{"pid", "the processes of others stay outside"},
	{"ipc", "the memory of others stays outside"},
	{"uts", "the host's name stays outside"},
	{"userns", "sbx chooses it"},
	{"cgroupns", "sbx chooses it"},
	{"volume", "grant paths by --allow-write and --allow-read"},
	{"v", "grant paths by --allow-write and --allow-read"},
	{"mount", "grant paths by --allow-write and --allow-read"},
	{"volumes-from", "grant paths by --allow-write and --allow-read"},
	{"group-add", "the command has the caller's groups"},
	{"user", "the command runs as the caller"},
	{"u", "the command runs as the caller"},
	{"env", "let variables through by --env"},
	{"e", "let variables through by --env"},
	{"env-file", "let variables through by --env"},
	{"publish", "nothing outside is to reach the command"},
	{"p", "nothing outside is to reach the command"},
	{"oom-score-adj", "the host would end other processes first"},
	{"sysctl", "settings of the kernel stay as they are"},
}

// applyOptions adds the further engine options of a profile to a api.
func applyOptions(line string, c *api.Config, h *api.HostConfig) error {
	words, err := shlex.Split(line)
	if err != nil {
		return fmt.Errorf("engine options %q: %w", line, err)
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
		if !strings.HasPrefix(word, "-") {
			return fmt.Errorf("engine option %q: an option begins with --", word)
		}
		for _, w := range widening {
			if w.name == name {
				return fmt.Errorf("engine option %q is refused: %s", word, w.instead)
			}
		}
		set := lookupOption(name)
		if set == nil {
			return fmt.Errorf("engine option %q is none that sbx passes on (%s)", word, optionNames())
		}
		if !given {
			if len(words) == 0 {
				return fmt.Errorf("engine option %q needs a value", word)
			}
			value, words = words[0], words[1:]
		}
		if err := set(value, c, h); err != nil {
			return fmt.Errorf("engine option %q %q: %w", word, value, err)
		}
	}
	return nil
}

func lookupOption(name string) func(string, *api.Config, *api.HostConfig) error {
	for _, o := range engineOptions() {
		if o.name == name {
			return o.set
		}
	}
	return nil
}

func optionNames() string {
	var names []string
	for _, o := range engineOptions() {
		names = append(names, "--"+o.name)
	}
	return strings.Join(names, ", ")
}

// setNetwork does not open a network that the profile keeps shut.
func setNetwork(v string, _ *api.Config, h *api.HostConfig) error {
	switch {
	case v == "host" || strings.HasPrefix(v, "container:") || strings.HasPrefix(v, "ns:"):
		return fmt.Errorf("it would give the command the network of somebody else")
	case h.NetworkMode == "none" && v != "none":
		return fmt.Errorf("the network is off: --net on opens it")
	case path.Base(v) != v:
		return fmt.Errorf("it is the name of a network")
	}
	h.NetworkMode = api.NetworkMode(v)
	return nil
}

func setUlimit(v string, _ *api.Config, h *api.HostConfig) error {
	name, rest, ok := strings.Cut(v, "=")
	soft, hard, both := strings.Cut(rest, ":")
	if !both {
		hard = soft
	}
	s, err1 := strconv.ParseInt(soft, 10, 64)
	d, err2 := strconv.ParseInt(hard, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("it is NAME=SOFT:HARD")
	}
	h.Ulimits = append(h.Ulimits, &api.Ulimit{Name: name, Soft: s, Hard: d})
	return nil
}

// parseBytes reads 512m, 1g, 1048576. The letters are powers of 1024, as the
// engines count.
func parseBytes(v string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(v))
	text = strings.TrimSuffix(strings.TrimSuffix(text, "b"), "i")
	shift := 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("kmgt", text[n-1]); i >= 0 {
			shift, text = 10*(i+1), text[:n-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("it is not a size: write 512m or 2g")
	}
	return n << shift, nil
}
