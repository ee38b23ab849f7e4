package containerd

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/containernetworking/cni/libcni"
	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/version"
	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/proc"
)

// A container with a network gets one end of a pair of interfaces, the other is
// at a bridge of the host. CNI plugins of the host make both. The namespace is
// the runtime's: with the last process in it the pair is gone, whoever is killed.
// What remains is an address and rules for it, and a file that says so; a reaper
// finds the container's record and takes them back.
const (
	bridge       = "sbx0"
	networkName  = "sbx"
	inside       = "eth0"
	networkState = "/run/sbx/cni" // as short-lived as the bridge
)

// plugins are what a network is made by: firewall lets the bridge's packets
// through where the host forwards none by default.
var plugins = [...]string{"bridge", "host-local", "firewall"}

// pluginDirs are where distributions and nerdctl put them.
var pluginDirs = [...]string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// adminPath is where plugins find iptables: they run as root, and the caller's
// PATH may lead into the workspace.
const adminPath = "/usr/sbin:/sbin:/usr/bin:/bin"

// offline is said where a network is not to be had.
const offline = ", or ask for none (--network off, PEPE_SANDBOX_NET=none) or for a list of hosts"

// findPlugins is the directory of the plugins, or why there can be no network.
func findPlugins(p sandbox.Profile) (string, error) {
	if os.Geteuid() != 0 {
		return "", errors.New("only root can make a network for a container of containerd: use the backend podman" + offline)
	}
	var refused error
	for _, dir := range pluginDirs {
		switch err := trusted(dir, p); {
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist):
			refused = err
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", fmt.Errorf("a network needs the CNI plugins %s, which are not all in %s: install containernetworking-plugins%s",
		strings.Join(plugins[:], ", "), strings.Join(pluginDirs[:], " or "), offline)
}

func trusted(dir string, p sandbox.Profile) error {
	for _, name := range plugins {
		at := filepath.Join(dir, name)
		if _, err := os.Stat(at); err != nil {
			return err
		}
		if err := proc.Trusted(at, p); err != nil {
			return fmt.Errorf("use %s: %w", at, err)
		}
	}
	return nil
}

// attach gives a task that was made and not started its way out.
func attach(ctx context.Context, id string, pid int, p sandbox.Profile) error {
	dir, err := findPlugins(p)
	if err != nil {
		return err
	}
	namespace, err := namespaceOf(id, pid)
	if err != nil {
		return err
	}
	defer namespace.Close()
	conf, err := setUp(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(attached(id), conf, 0o600); err != nil {
		return err
	}
	list, err := libcni.NetworkConfFromBytes(conf)
	if err != nil {
		return err
	}
	_, err = cni(dir).AddNetworkList(ctx, list, &libcni.RuntimeConf{
		ContainerID: id, IfName: inside, NetNS: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), namespace.Fd()),
	})
	return err
}

// namespaceOf opens the network namespace of a task. The number is containerd's:
// where it counts in another pid namespace than ours, it names somebody else.
func namespaceOf(id string, pid int) (*os.File, error) {
	at := "/proc/" + strconv.Itoa(pid)
	file, err := os.Open(at + "/ns/net")
	if err != nil {
		return nil, err
	}
	groups, err := os.ReadFile(at + "/cgroup")
	if err == nil && !strings.Contains(string(groups), "/"+id+"\n") {
		err = fmt.Errorf("process %d is none of the container: containerd counts processes in another namespace", pid)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// detach takes back what attach left on the host. There may be nothing.
func detach(ctx context.Context, id string) error {
	conf, err := os.ReadFile(attached(id))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) { // only root attaches
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := findPlugins(sandbox.Profile{})
	if err != nil {
		return err
	}
	// A killed writer may have left no text: then nothing was attached.
	if list, err := libcni.NetworkConfFromBytes(conf); err == nil {
		if err := cni(dir).DelNetworkList(ctx, list, &libcni.RuntimeConf{ContainerID: id, IfName: inside}); err != nil {
			return err
		}
	}
	return os.Remove(attached(id))
}

// attached is the file that says by which configuration a container was attached.
func attached(id string) string { return filepath.Join(networkState, "attached", id) }

func cni(dir string) *libcni.CNIConfig {
	return libcni.NewCNIConfigWithCacheDir([]string{dir}, networkState, &runner{
		DefaultExec: &invoke.DefaultExec{RawExec: &invoke.RawExec{}, PluginDecoder: version.PluginDecoder{}},
	})
}

// runner starts plugins without the caller's environment.
type runner struct{ *invoke.DefaultExec }

// ExecPlugin implements invoke.Exec.
func (r *runner) ExecPlugin(ctx context.Context, path string, in []byte, env []string) ([]byte, error) {
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return !strings.HasPrefix(entry, "CNI_") })
	return r.DefaultExec.ExecPlugin(ctx, path, in, append(env, "PATH="+adminPath))
}

// setUp makes what all containers share: the directory, and one rule that gives
// their packets an address of the host. The plugin bridge would make rules for
// each container, which nobody can take back once its namespace is gone
// (github.com/containernetworking/plugins/issues/810).
func setUp(ctx context.Context) (conf []byte, err error) {
	if err := os.MkdirAll(filepath.Join(networkState, "attached"), 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(networkState, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}
	subnet, err := subnet()
	if err != nil {
		return nil, err
	}
	if err := masquerade(ctx, subnet); err != nil {
		return nil, err
	}
	type object = map[string]any
	return json.Marshal(object{
		"cniVersion": "0.4.0", "name": networkName,
		"plugins": []object{
			{
				"type": "bridge", "bridge": bridge, "isGateway": true,
				"ipam": object{
					"type": "host-local", "dataDir": filepath.Join(networkState, "addresses"),
					"ranges": [][]object{{{"subnet": subnet.String()}}}, "routes": []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "firewall"},
		},
	})
}

func masquerade(ctx context.Context, subnet netip.Prefix) error {
	iptables, err := proc.Tool("iptables", adminPath, sandbox.Profile{})
	if err != nil {
		return err
	}
	run := func(verb string) error {
		c := exec.CommandContext(ctx, iptables, "--wait", "--table", "nat", verb, "POSTROUTING", "--source", subnet.String(), "!", "--destination", subnet.String(),
			"-m", "comment", "--comment", "sbx", "--jump", "MASQUERADE")
		c.Env = []string{"PATH=" + adminPath}
		out, err := c.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", iptables, err, bytes.ReplaceAll(bytes.TrimSpace(out), []byte("\n"), []byte(" ")))
		}
		return nil
	}
	if run("--check") == nil {
		return nil
	}
	return run("--append")
}

// subnets are what the bridge may have: the first that leads nowhere else here.
var subnets = [...]string{"10.87.0.0/20", "172.31.112.0/20", "192.168.208.0/20"}

// subnet is the one that the bridge has, or is to have.
func subnet() (netip.Prefix, error) {
	if at, err := net.InterfaceByName(bridge); err == nil {
		have, _ := at.Addrs()
		for _, a := range have {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
				return p.Masked(), nil
			}
		}
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return netip.Prefix{}, err
	}
	for _, text := range subnets {
		if p := netip.MustParsePrefix(text); !routed(string(routes), p) {
			return p, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("this machine has routes to all of the addresses that sbx would take for containers: %s", strings.Join(subnets[:], ", "))
}

// routed says whether a table of the form of /proc/net/route leads to a part of a
// prefix, other than by a default route.
func routed(table string, p netip.Prefix) bool {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		to, err1 := strconv.ParseUint(fields[1], 16, 32)
		mask, err2 := strconv.ParseUint(fields[7], 16, 32)
		if err1 != nil || err2 != nil || mask == 0 {
			continue // the headline, or the default route
		}
		var at, ones [4]byte // the table has the bytes of an address as a number of this processor
		binary.NativeEndian.PutUint32(at[:], uint32(to))
		binary.NativeEndian.PutUint32(ones[:], uint32(mask))
		bits, _ := net.IPMask(ones[:]).Size()
		if netip.PrefixFrom(netip.AddrFrom4(at), bits).Overlaps(p) {
			return true
		}
	}
	return false
}
