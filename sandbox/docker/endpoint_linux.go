package docker

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/container"
)

// endpoint is where an engine listens.
type endpoint struct {
	host string // "unix:///path", or empty: an own service has to be started
	from string // what named it, for messages
	cert string // directory with the client's certificate; may be empty
}

// path is the socket's file; empty for an address that is none.
func (e endpoint) path() string {
	path, ok := strings.CutPrefix(e.host, "unix://")
	if !ok {
		return ""
	}
	return path
}

// endpoint finds the engine as its own command line does.
func (b *Backend) endpoint(c sandbox.Container) (endpoint, error) {
	if c.Host != "" {
		return endpoint{host: c.Host, from: "the configuration"}, nil
	}
	if b.engine == Podman {
		return b.podmanEndpoint(), nil
	}
	if host := b.options.Getenv("DOCKER_HOST"); host != "" {
		return endpoint{host: host, from: "DOCKER_HOST", cert: b.options.Getenv("DOCKER_CERT_PATH")}, nil
	}
	name, err := b.contextName()
	if err != nil {
		return endpoint{}, err
	}
	if name != "" && name != "default" {
		return b.contextEndpoint(name)
	}
	return endpoint{host: "unix://" + b.firstSocket("/var/run/docker.sock", "docker.sock"), from: "the default"}, nil
}

func (b *Backend) podmanEndpoint() endpoint {
	if host := b.options.Getenv("CONTAINER_HOST"); host != "" {
		return endpoint{host: host, from: "CONTAINER_HOST"}
	}
	standing := "/run/podman/podman.sock"
	if os.Geteuid() != 0 {
		standing = filepath.Join(b.options.Getenv("XDG_RUNTIME_DIR"), "podman", "podman.sock")
	}
	if container.IsSocket(standing) {
		return endpoint{host: "unix://" + standing, from: "the default"}
	}
	return endpoint{from: ownService}
}

// firstSocket is the engine of the machine if there is one, else that of the
// user (a rootless engine).
func (b *Backend) firstSocket(machine, ofUser string) string {
	if container.IsSocket(machine) {
		return machine
	}
	if dir := b.options.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if own := filepath.Join(dir, ofUser); container.IsSocket(own) {
			return own
		}
	}
	return machine
}

func (b *Backend) contextName() (string, error) {
	if name := b.options.Getenv("DOCKER_CONTEXT"); name != "" {
		return name, nil
	}
	c, err := container.ReadClientConfig(b.options.Getenv)
	if err != nil {
		return "", b.unavailable("", err)
	}
	return c.CurrentContext, nil
}

// contextEndpoint reads the file in which `docker context create` stored it.
func (b *Backend) contextEndpoint(name string) (endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	file := filepath.Join(container.ClientConfigDir(b.options.Getenv), "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json")
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &meta)
	}
	if errors.Is(err, os.ErrNotExist) {
		err = errors.New("there is no such context: `docker context ls` lists them")
	}
	host := meta.Endpoints["docker"].Host
	if err == nil && host == "" {
		err = errors.New("it names no address")
	}
	if err != nil {
		return endpoint{}, b.unavailable(fmt.Sprintf("use the context %q", name), err)
	}
	return endpoint{host: host, from: fmt.Sprintf("the context %q", name)}, nil
}

// checkLocal refuses an engine of another machine: it would mount its own files
// under the names of ours.
func (b *Backend) checkLocal(e endpoint, c sandbox.Container) error {
	if e.host == "" || e.path() != "" || c.Local && strings.HasPrefix(e.host, "tcp://") {
		return nil
	}
	if !strings.Contains(e.host, "://") {
		return b.unavailable("", fmt.Errorf("%s names the engine %q, which is no address: write unix:///PATH", e.from, e.host))
	}
	advice := "use a unix socket"
	if strings.HasPrefix(e.host, "tcp://") {
		advice += ", or say that it is of this machine (sbx.container.local)"
	}
	return b.unavailable("", fmt.Errorf("%s names the engine %q, which may be another machine's and see other files than this one: %s", e.from, e.host, advice))
}
