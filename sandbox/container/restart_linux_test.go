package container_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/docker"
)

// ownDocker is a dockerd of one test, which may be killed, and a containerd that
// stays. Their network and their disk, 24 MiB in memory, are in namespaces that a
// process holds.
type ownDocker struct {
	*testing.T
	dir    string
	holder *exec.Cmd
	daemon *exec.Cmd
	ended  chan struct{}
}

func newDocker(t *testing.T) *ownDocker {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("dockerd needs root")
	}
	need(t, docker.Docker)
	dir, err := os.MkdirTemp("/var/lib", "sbx-dockerd-")
	check(t, err)
	d := &ownDocker{T: t, dir: dir}
	check(t, os.Mkdir(dir+"/data", 0o700))
	d.holder = exec.Command("unshare", "--net", "--mount", "--propagation", "private", "sh", "-c",
		`ip link set lo up && mount -t tmpfs -o size=24m tmpfs "$0/data" && echo ready && exec sleep 600`, dir)
	out, err := d.holder.StdoutPipe()
	check(t, err)
	check(t, d.holder.Start())
	t.Cleanup(d.clear)
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatalf("no namespaces: %v", err)
	}
	config := fmt.Appendf(nil, "version = 2\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %q\n",
		dir+"/data/containerd", dir+"/exec/containerd", d.containerd())
	check(t, os.WriteFile(dir+"/config.toml", config, 0o600))
	d.launch("containerd", "--config", dir+"/config.toml")
	d.await(exec.Command("ctr", "--address", d.containerd(), "version"))
	return d
}

func (d *ownDocker) cgroup() string { return "sbx-test-" + filepath.Base(d.dir) }
func (d *ownDocker) host() string   { return "unix://" + d.dir + "/socket" }

func (d *ownDocker) containerd() string { return d.dir + "/containerd.sock" }

// within is a command in the namespaces.
func (d *ownDocker) within(argv ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net", "--mount", "--target", strconv.Itoa(d.holder.Process.Pid), "--"}, argv...)...)
}

func (d *ownDocker) cli(args ...string) *exec.Cmd {
	return exec.Command("docker", append([]string{"--host", d.host()}, args...)...)
}

// launch starts a daemon and says when it has ended.
func (d *ownDocker) launch(argv ...string) (*exec.Cmd, chan struct{}) {
	d.Helper()
	log, err := os.OpenFile(d.dir+"/log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	check(d, err)
	defer log.Close()
	c := d.within(argv...)
	c.Stdout, c.Stderr = log, log
	check(d, c.Start())
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	return c, ended
}

// await asks until a daemon answers.
func (d *ownDocker) await(question *exec.Cmd) {
	d.Helper()
	if !await(func() bool { return exec.Command(question.Path, question.Args[1:]...).Run() == nil }) {
		said, _ := os.ReadFile(d.dir + "/log")
		d.Fatalf("%q does not get an answer: %s", question.Args, said)
	}
}

// start returns when dockerd answers.
func (d *ownDocker) start(options ...string) {
	d.Helper()
	d.daemon, d.ended = d.launch(append([]string{
		"dockerd", "--data-root", d.dir + "/data", "--exec-root", d.dir + "/exec", "--pidfile", d.dir + "/pid", "--host", d.host(), "--storage-driver", "overlay2",
		"--containerd", d.containerd(), "--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", "/" + d.cgroup(), "--bridge", "none", "--iptables=false",
		"--shutdown-timeout", "1",
	}, options...)...)
	d.await(d.cli("version"))
}

// kill waits until the engine itself knows that a container runs: one that it is just
// starting ends with it.
func (d *ownDocker) kill(with syscall.Signal) {
	d.Helper()
	running := await(func() bool {
		out, err := d.cli("ps", "-q", "--filter", "label=run.sbx.uid").Output()
		return err == nil && len(out) > 0
	})
	if !running {
		d.Fatal("no container runs")
	}
	check(d, d.daemon.Process.Signal(with))
	<-d.ended
}

// clear ends what names our directory, and the holder: the mounts are gone then.
func (d *ownDocker) clear() {
	if d.daemon != nil {
		_ = d.daemon.Process.Signal(syscall.SIGTERM)
		<-d.ended
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if pid, perr := strconv.Atoi(filepath.Base(filepath.Dir(line))); err == nil && perr == nil && strings.Contains(string(text), d.dir+"/") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = d.holder.Process.Kill()
	_ = d.holder.Wait()
	_ = exec.Command("find", "/sys/fs/cgroup", "-depth", "-type", "d", "-path", "*/"+d.cgroup()+"*", "-exec", "rmdir", "{}", "+").Run()
	if err := os.RemoveAll(d.dir); err != nil {
		d.Error(err)
	}
}

// during does something in the middle of a command, which then has a moment to end.
func (r *room) during(act func()) (sandbox.Result, error) {
	r.Helper()
	s := r.open()
	type outcome struct {
		sandbox.Result
		error
	}
	done := make(chan outcome)
	go func() {
		result, err := s.Run(r.Context(), sandbox.Command{Argv: []string{"sh", "-c", "touch ready; while test -e ready; do sleep 0.05; done; exit 7"}, Env: r.env(), Timeout: longest})
		done <- outcome{result, err}
	}()
	r.appears(r.workspace + "/ready")
	act()
	check(r, os.Remove(r.workspace+"/ready"))
	o := <-done
	return o.Result, o.error
}

// An engine that is killed or stopped in the middle of a command, and one whose
// disk is full: the command's own end or one sentence, and nothing stays.
func TestEngineRestart(t *testing.T) {
	d := newDocker(t)
	r := newRoom(t, docker.Docker)
	r.profile.Container.Host = d.host()
	d.start()
	out, err := d.cli("import", os.Getenv("SBX_TEST_IMAGES")+"/busybox.tar", small).CombinedOutput()
	if err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	// Killed, or with containers that survive it: the command does not notice.
	for _, c := range []struct {
		signal syscall.Signal
		then   []string
	}{{syscall.SIGKILL, []string{"--live-restore"}}, {syscall.SIGTERM, nil}} {
		if result, err := r.during(func() { d.kill(c.signal) }); err != nil || result.ExitCode != 7 || result.Ending != sandbox.Exited {
			t.Errorf("%s: %+v, %v", c.signal, result, err)
		}
		if text := r.refused(); !strings.Contains(text, "there is no engine") && !strings.Contains(text, "nobody listens") {
			t.Errorf("%s: %s", c.signal, text)
		}
		d.start(c.then...)
		d.empty(r)
	}
	// One that ends its containers: the outcome is lost, and said to be.
	result, err := r.during(func() { d.kill(syscall.SIGTERM) })
	if err == nil || !strings.Contains(err.Error(), "by its engine") || result.Ending != sandbox.Lost || result.ExitCode != 125 {
		t.Errorf("ended by its engine: %+v, %v", result, err)
	}
	d.start()
	d.empty(r)

	text := r.refusedWhenFull(func() {
		if out, err := d.within("dd", "if=/dev/zero", "of="+d.dir+"/data/fill", "bs=4096", "oflag=append", "conv=notrunc").CombinedOutput(); err == nil {
			t.Fatalf("the disk is not full: %s", out)
		}
	})
	if !strings.Contains(text, "the engine's disk is full") {
		t.Error(text)
	}
	d.empty(r)
	check(t, d.within("rm", d.dir+"/data/fill").Run())
	if out, result := r.run(r.open(), "echo", "room"); out != "room\n" || result.ExitCode != 0 {
		t.Errorf("%q, %+v", out, result)
	}
	d.empty(r)
}

// empty says that no container of ours is in the engine, soon after the last one.
func (d *ownDocker) empty(r *room) {
	r.Helper()
	var left string
	empty := await(func() bool {
		out, err := d.cli("ps", "-aq", "--filter", "label=run.sbx.uid").Output()
		check(r, err)
		boxes, err := filepath.Glob(r.dir + "/run/sbx-box-*")
		check(r, err)
		left = strings.Join(slices.Concat(strings.Fields(string(out)), boxes, commandsWith(r, r.workspace)), " ")
		return left == ""
	})
	if !empty {
		r.Error("left behind: " + left)
	}
}
