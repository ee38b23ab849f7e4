package docker

import (
	"errors"
	"path"
	"slices"
	"strings"

	api "github.com/moby/moby/api/types/container"

	"github.com/sbx-run/sbx/sandbox/container"
)

// engineOptions are passed on to a container that is being described.
func engineOptions(c *api.Config, h *api.HostConfig) []container.Option {
	return []container.Option{
		{Name: "network", Set: func(v string) error { return setNetwork(v, h) }, Why: "a network of the engine instead of its default one"},
		{Name: "dns", Set: func(v string) error {
			at, err := container.ParseAddress(v)
			h.DNS = append(h.DNS, at)
			return err
		}, Why: "which server resolves names"},
		{Name: "dns-search", Set: func(v string) error {
			h.DNSSearch = append(h.DNSSearch, v)
			return nil
		}, Why: "how names are completed"},
		{Name: "add-host", Set: func(v string) error {
			if !strings.Contains(v, ":") {
				return errors.New("it is NAME:ADDRESS")
			}
			h.ExtraHosts = append(h.ExtraHosts, v)
			return nil
		}, Why: "a name of the command's own; reaching the address is a matter of the network"},
		{Name: "hostname", Set: func(v string) error {
			c.Hostname = v
			return nil
		}, Why: "the name of the container"},
		{Name: "shm-size", Set: func(v string) (err error) {
			h.ShmSize, err = container.ParseBytes(v)
			return err
		}, Why: "shared memory, which counts as memory of the container"},
		{Name: "cpuset-cpus", Set: func(v string) error {
			h.CpusetCpus = v
			return nil
		}, Why: "which processors"},
		{Name: "memory-reservation", Set: func(v string) (err error) {
			h.MemoryReservation, err = container.ParseBytes(v)
			return err
		}, Why: "a softer limit"},
		{Name: "ulimit", Set: func(v string) error {
			name, soft, hard, err := container.ParseUlimit(v)
			h.Ulimits = append(h.Ulimits, &api.Ulimit{Name: name, Soft: soft, Hard: hard})
			return err
		}, Why: "limits of single processes"},
		{Name: "cgroup-parent", Set: func(v string) error {
			if slices.Contains(strings.Split(v, "/"), "..") {
				return errors.New("it leads out of the engine's own place")
			}
			h.CgroupParent = v
			return nil
		}, Why: "where the engine accounts for it"},
	}
}

// setNetwork does not open a network that the profile keeps shut.
func setNetwork(v string, h *api.HostConfig) error {
	switch {
	case v == "host" || strings.HasPrefix(v, "container:") || strings.HasPrefix(v, "ns:"):
		return errors.New("it would give the command the network of somebody else")
	case h.NetworkMode == "none" && v != "none":
		return errors.New("the network is off: --net on opens it")
	case path.Base(v) != v, strings.Contains(v, ":"): // with settings, Podman's may lead to the host's loopback
		return errors.New("it is the name of a network")
	}
	h.NetworkMode = api.NetworkMode(v)
	return nil
}
