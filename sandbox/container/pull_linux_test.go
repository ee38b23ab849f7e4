package container_test

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/containerd"
	"github.com/sbx-run/sbx/sandbox/docker"
)

const pullVar = "SBX_TEST_PULL" // this process is where the registry is

func needRegistry(t *testing.T) string {
	t.Helper()
	registry := os.Getenv("SBX_TEST_REGISTRY")
	if registry == "" {
		if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), docker.Docker) {
			t.Fatal("there is no registry: scripts/engines.sh starts one")
		}
		t.Skip("there is no registry")
	}
	return registry
}

// An image that is not here is fetched before the command, and its time limit.
func TestPull(t *testing.T) {
	pull(newRoom(t, docker.Docker), needRegistry(t))
}

// TestPullContainerd fetches by containerd's client, which is this process: it has
// to be in the network of the registry, which is dockerd's.
func TestPullContainerd(t *testing.T) {
	registry := needRegistry(t)
	need(t, containerd.Name)
	if os.Getenv(pullVar) != "" {
		r := newRoom(t, containerd.Name)
		pull(r, slowly(r, registry))
		pullForeign(r, registry)
		return
	}
	self, err := os.Executable()
	check(t, err)
	c := exec.Command("nsenter", "--net=/proc/"+strconv.Itoa(listenerOf(t, strings.TrimPrefix(os.Getenv(hostVar), "unix://")))+"/ns/net",
		self, "-test.run=^TestPullContainerd$", "-test.v")
	c.Env = append(os.Environ(), pullVar+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// listenerOf is the process that listens on a unix socket.
func listenerOf(t testing.TB, socket string) int {
	t.Helper()
	c, err := net.Dial("unix", socket)
	check(t, err)
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	check(t, err)
	var peer *unix.Ucred
	check(t, raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }))
	check(t, err)
	return int(peer.Pid)
}

// pullLimit is how long each of the two files of an image takes at least. The command
// has less time than both, and more than it needs on a busy machine.
const pullLimit = 3 * time.Second

// slowly is a registry whose images take longer to come than a command may run.
func slowly(r *room, registry string) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	check(r, err)
	r.Cleanup(func() { _ = l.Close() })
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: registry})
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if strings.Contains(q.URL.Path, "/blobs/") {
				time.Sleep(pullLimit)
			}
			proxy.ServeHTTP(w, q)
		}))
	}()
	return l.Addr().String()
}

func pull(r *room, registry string) {
	r.Helper()
	image := registry + "/busybox:1"
	r.removeImage(image)
	r.Cleanup(func() { r.removeImage(image) })
	cli := map[string]string{docker.Docker: "docker pull", containerd.Name: "ctr image pull"}[r.engine]
	r.profile.Container.Image = image
	if text := r.refused(); !strings.Contains(text, cli) {
		r.Errorf("not to be fetched: %s", text)
	}
	r.profile.Container.NoPull = false
	var shown, out strings.Builder
	o := options()
	o.Progress = &shown
	s, err := newBackend(r.engine, o).Open(r.Context(), r.profile)
	check(r, err)
	result, err := s.Run(r.Context(), sandbox.Command{Argv: []string{"echo", "fetched"}, Env: r.env(), Stdout: &out, Stderr: &out, Timeout: pullLimit * 3 / 2})
	check(r, err)
	check(r, s.Close())
	if out.String() != "fetched\n" || result.ExitCode != 0 || !strings.HasPrefix(shown.String(), "sbx: pulling "+image) {
		r.Errorf("%q, %+v, %q", out.String(), result, shown.String())
	}
	r.profile.Container.Image = registry + "/absent:1"
	if text := r.refused(); !strings.Contains(text, "absent:1 is not here") || !strings.Contains(text, cli) {
		r.Errorf("absent: %s", text)
	}
	r.leavesNothing()
}

// pullForeign asks for an image that a registry has for other machines alone.
func pullForeign(r *room, registry string) {
	r.Helper()
	other, machine := "arm64", elf.EM_AARCH64
	if runtime.GOARCH == other {
		other, machine = "amd64", elf.EM_X86_64
	}
	root := foreignRoot(r, machine)
	config := fmt.Appendf(nil, `{"architecture": %q, "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": ["sha256:%x"]}}`, other, sha256.Sum256(root))
	const types = "application/vnd.docker.distribution.manifest.v2+json"
	manifest := fmt.Appendf(nil, `{"schemaVersion": 2, "mediaType": %q, "config": {"mediaType": "application/vnd.docker.container.image.v1+json", "size": %d, "digest": "sha256:%x"},
		"layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar", "size": %d, "digest": "sha256:%x"}]}`, types, len(config), sha256.Sum256(config), len(root), sha256.Sum256(root))
	name := "foreign-" + r.hash()
	for _, blob := range [][]byte{root, config} {
		at := send(r, http.MethodPost, "http://"+registry+"/v2/"+name+"/blobs/uploads/", "", nil)
		send(r, http.MethodPut, at+"&digest="+fmt.Sprintf("sha256:%x", sha256.Sum256(blob)), "application/octet-stream", blob)
	}
	send(r, http.MethodPut, "http://"+registry+"/v2/"+name+"/manifests/1", types, manifest)
	image := registry + "/" + name + ":1"
	r.Cleanup(func() { r.removeImage(image) })
	r.profile.Container.Image = image
	if text := r.refused(); !strings.Contains(text, "is for "+other+", this machine is "+runtime.GOARCH) {
		r.Errorf("%s", text)
	}
	r.leavesNothing()
}

// send asks a registry for something and returns the place that it names.
func send(t testing.TB, method, at, kind string, body []byte) string {
	t.Helper()
	q, err := http.NewRequest(method, at, bytes.NewReader(body))
	check(t, err)
	q.Header.Set("Content-Type", kind)
	a, err := http.DefaultClient.Do(q)
	check(t, err)
	defer a.Body.Close()
	if said, _ := io.ReadAll(a.Body); a.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s: %s", method, at, a.Status, said)
	}
	return a.Header.Get("Location")
}

// A signal ends what goes on before there is a command to pass it to: here, an image
// that does not come. (The tests' dockerd has a network of its own.)
func TestSignalWhilePulling(t *testing.T) {
	for _, engine := range []string{docker.Podman, containerd.Name} {
		t.Run(engine, func(t *testing.T) {
			r := newRoom(t, engine)
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			check(r, err)
			defer l.Close()
			signals := make(chan os.Signal, 1)
			go func() {
				c, err := l.Accept()
				if err == nil {
					signals <- syscall.SIGTERM
					defer c.Close()
					_, _ = io.Copy(io.Discard, c) // until the engine gives up
				}
			}()
			r.profile.Container.Image, r.profile.Container.NoPull = l.Addr().String()+"/x:1", false
			s, err := r.backend().Open(r.Context(), r.profile)
			check(r, err)
			result, err := s.Run(r.Context(), sandbox.Command{Argv: []string{"true"}, Env: r.env(), Signals: signals})
			check(r, s.Close())
			if text := r.refusal(&result, err); !strings.Contains(text, `ended by the signal "terminated"`) {
				r.Error(text)
			}
			r.leavesNothing()
		})
	}
}
