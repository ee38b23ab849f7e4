package docker

import (
	"strings"
	"testing"

	api "github.com/moby/moby/api/types/container"

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
