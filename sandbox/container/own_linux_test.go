package container_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/containerd"
)

const ownVar = "SBX_TEST_OWN" // the mount namespace that this process was made from

// TestContainerdOfOwn does to a containerd what the tests' common one must not be
// done: its disk is full, and it is killed.
func TestContainerdOfOwn(t *testing.T) {
	need(t, containerd.Name)
	here, err := os.Readlink("/proc/self/ns/mnt")
	check(t, err)
	switch os.Getenv(ownVar) {
	case "":
	case here:
		t.Fatal("this is no mount namespace of its own")
	default:
		o := &own{room: newRoom(t, containerd.Name)}
		o.prepare()
		o.diskFull()
		o.killed()
		return
	}
	self, err := os.Executable()
	check(t, err)
	c := exec.Command(self, "-test.run=^TestContainerdOfOwn$", "-test.v")
	c.Env = append(os.Environ(), ownVar+"="+here)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// own is a room with a containerd for itself.
type own struct {
	*room
	base    string // holds all that is its
	process *exec.Cmd
}

// prepare starts it on a small disk, and loads the image.
func (o *own) prepare() {
	check(o, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	o.base = o.dir + "/engine"
	check(o, os.Mkdir(o.base, 0o700))
	check(o, unix.Mount("tmpfs", o.base, "tmpfs", 0, "size=24m"))
	o.Cleanup(func() { _ = unix.Unmount(o.base, unix.MNT_DETACH) })
	check(o, os.WriteFile(o.dir+"/config.toml", fmt.Appendf(nil,
		"version = 2\nroot = \"%[1]s/root\"\nstate = \"%[1]s/state\"\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %[2]q\n", o.base, o.dir+"/socket"), 0o600))
	o.Setenv(socketVar, o.dir+"/socket")
	o.profile.Container.Host = o.dir + "/socket"
	o.Cleanup(func() { o.down(syscall.SIGTERM) })
	o.up()
	root, err := os.ReadFile(os.Getenv("SBX_TEST_IMAGES") + "/busybox.tar")
	check(o, err)
	load := o.cli("images", "import", "-")
	load.Stdin = bytes.NewReader(saved(o, small, runtime.GOARCH, root))
	if out, err := load.CombinedOutput(); err != nil {
		o.Fatalf("%v: %s", err, out)
	}
}

func (o *own) up() {
	o.Helper()
	o.process = exec.Command("containerd", "--config", o.dir+"/config.toml")
	check(o, o.process.Start())
	if !await(func() bool { return o.cli("version").Run() == nil }) {
		o.Fatal("containerd does not start")
	}
}

func (o *own) down(sig syscall.Signal) {
	_ = o.process.Process.Signal(sig)
	_ = o.process.Wait()
}

func (o *own) diskFull() {
	o.run(o.open(), "true") // the control
	fill, err := os.Create(o.base + "/fill")
	check(o, err)
	defer fill.Close()
	text := o.refusedWhenFull(func() {
		var err error
		for err == nil {
			_, err = fill.Write(make([]byte, 4096))
		}
		if !errors.Is(err, unix.ENOSPC) {
			o.Fatal(err)
		}
	})
	if !strings.Contains(text, "the engine's disk is full") {
		o.Errorf("%s", text)
	}
	check(o, os.Remove(fill.Name()))
	o.leavesNothing()
}

// killed is what comes of a command whose containerd is killed, and is started
// again, while it runs.
func (o *own) killed() {
	ready := o.workspace + "/ready"
	var result sandbox.Result
	done := make(chan error, 1)
	s := o.open()
	go func() {
		var err error
		result, err = s.Run(o.Context(), sandbox.Command{Argv: []string{"sh", "-c", "touch ready; while test -e ready; do sleep 0.05; done; exit 5"}, Env: o.env(), Timeout: longest})
		done <- err
	}()
	o.appears(ready)
	o.down(syscall.SIGKILL)
	o.up()
	check(o, os.Remove(ready))
	if err := <-done; err != nil || result.ExitCode != 5 {
		o.Errorf("%v, %+v", err, result)
	}
	o.leavesNothing()

	// And its maker is killed while there is no engine.
	c := o.victim()
	o.down(syscall.SIGKILL)
	check(o, c.Process.Kill())
	_ = c.Wait()
	o.gone()
	o.up()
	o.sweptByNext()
}

// appears waits for a file.
func (r *room) appears(file string) {
	r.Helper()
	if !await(func() bool { return there(file) }) {
		r.Fatalf("%s does not appear", file)
	}
}

func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
