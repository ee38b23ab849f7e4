package docker

import (
	"strings"
	"testing"

	api "github.com/moby/moby/api/types/container"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

func TestEngineOptions(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"--network mine --dns 10.0.0.1", ""},
		{"--shm-size=128m --ulimit nofile=64:128 --add-host 'db:10.0.0.2'", ""},
		{"--privileged", "refused"},
		{"--cap-add SYS_ADMIN", "refused"},
		{"--pid=host", "refused"},
		{"--userns host", "refused"},
		{"-v /:/host", "refused"},
		{"--volume=/var/run/docker.sock:/s", "refused"},
		{"--mount type=bind,source=/,target=/h", "refused"},
		{"--device /dev/sda", "refused"},
		{"--security-opt seccomp=unconfined", "refused"},
		{"--network host", "somebody else"},
		{"--network=container:other", "somebody else"},
		{"--network", "needs a value"},
		{"--network slirp4netns:allow_host_loopback=true", "name of a network"},
		{"--network pasta:--map-gw", "name of a network"},
		{"--dns localhost", "no address"},
		{"--cgroup-parent /mine", ""},
		{"--cgroup-parent ../other", "leads out"},
		{"--restart always", "none that sbx passes on"},
		{"image", "begins with --"},
		{"--dns 'open", "EOF"},
		{"--shm-size lots", "not a size"},
	} {
		h := api.HostConfig{NetworkMode: "bridge"}
		err := container.ApplyOptions(c.line, engineOptions(&api.Config{}, &h))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.line, err)
		}
	}
	h := api.HostConfig{NetworkMode: "none"}
	if err := container.ApplyOptions("--network bridge", engineOptions(&api.Config{}, &h)); err == nil || h.NetworkMode != "none" {
		t.Errorf("a network that is off was opened: %v", err)
	}
}

// Without a network there is none of the engine's around the container, unless
// somebody asked for what that one brings.
func TestUnplugged(t *testing.T) {
	for _, c := range []struct {
		engine, options string
		network         sandbox.Network
		disabled        bool
		hosts           int
	}{
		{Docker, "", sandbox.NetworkNone, true, 1},
		{Docker, "--add-host db:10.0.0.2", sandbox.NetworkNone, false, 0},
		{Docker, "--dns 10.0.0.1", sandbox.NetworkNone, false, 0},
		{Docker, "", sandbox.NetworkHost, false, 0},
		{Podman, "", sandbox.NetworkNone, false, 0},
	} {
		b := New(c.engine, Options{})
		made, err := b.makeBody(container.Spec{Profile: sandbox.Profile{Network: c.network, Container: sandbox.Container{Options: c.options}}, Socket: "/s"}, machine)
		hosts := 0
		for _, m := range made.host.Mounts {
			if m.Target == "/etc/hosts" && m.Source == "/s/hosts" && m.ReadOnly {
				hosts++
			}
		}
		if err != nil || made.config.NetworkDisabled != c.disabled || hosts != c.hosts {
			t.Errorf("%+v: disabled %v, %d times /etc/hosts, %v", c, made.config.NetworkDisabled, hosts, err)
		}
	}
}
