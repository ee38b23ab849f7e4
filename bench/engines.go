//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// versus compares a command by an engine's own command line with one by sbx.
type versus func(w io.Writer, o options, engine string, cli, sbx candidate) error

// containerOthers compares Podman, its service running, and containerd with their
// own command lines, as container does Docker.
func containerOthers(w io.Writer, o options) error {
	return others(w, o, func(w io.Writer, o options, engine string, cli, sbx candidate) error {
		title := "A command in a container of " + engine + " " + o.who()
		return compare(w, title, max(5, o.rounds/5), []candidate{cli, sbx}, []bound{{of: sbx.name, by: cli.name, atMost: atMostOfCLI}})
	})
}

// manyOthers compares many at once in their containers, as manyContainers does in
// Docker's.
func manyOthers(w io.Writer, o options) error {
	return others(w, o, func(w io.Writer, o options, engine string, cli, sbx candidate) error {
		return o.boxes(w, engine, cli, sbx)
	})
}

func others(w io.Writer, o options, measure versus) error {
	if o.guest {
		return nil
	}
	for _, engine := range []func(io.Writer, options, versus) error{podmanCold, containerdCold} {
		if err := engine(w, o, measure); err != nil {
			return err
		}
	}
	return nil
}

const atMostOfCLI = 0.9

func (o options) cold(backend string) candidate {
	return o.candidate("sbx exec --backend "+backend, o.sbx, "exec", "--backend", backend, "--network", "off", "--image", benchImage,
		"--workspace", o.workspace(), "--", "true")
}

func podmanCold(w io.Writer, o options, measure versus) error {
	dir := os.Getenv("SBX_TEST_PODMAN")
	if dir == "" {
		fmt.Fprintln(w, "\nPodman: not measured, SBX_TEST_PODMAN is not set (scripts/engines.sh starts an engine)")
		return nil
	}
	for name, value := range map[string]string{"CONTAINERS_STORAGE_CONF": dir + "/storage.conf", "CONTAINERS_CONF": dir + "/containers.conf"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	podman, err := exec.LookPath("podman")
	if err != nil {
		return err
	}
	ws, socket := o.workspace(), filepath.Join(o.dir, "podman.sock")
	service := exec.Command(podman, "system", "service", "--time=0", "unix://"+socket)
	service.Env, service.SysProcAttr = o.env(), &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := service.Start(); err != nil {
		return err
	}
	defer func() { _ = service.Process.Signal(syscall.SIGTERM); _ = service.Wait() }()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("podman system service does not listen at %s", socket)
		}
	}
	// Before the variable is set, which would make the command line ask the service.
	cli := o.candidate("podman run --rm", podman, "run", "--rm", "--network", "none", "--memory", "512m", "--cpus", "1", "--pids-limit", "256",
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
		"--volume", ws+":"+ws, "--workdir", ws, benchImage, "true")
	if err := os.Setenv("CONTAINER_HOST", "unix://"+socket); err != nil {
		return err
	}
	defer os.Unsetenv("CONTAINER_HOST")
	return measure(w, o, "Podman", cli, o.cold("podman"))
}

func containerdCold(w io.Writer, o options, measure versus) error {
	socket := os.Getenv("SBX_TEST_CONTAINERD")
	if socket == "" {
		fmt.Fprintln(w, "\ncontainerd: not measured, SBX_TEST_CONTAINERD is not set (scripts/engines.sh starts an engine)")
		return nil
	}
	if err := os.Setenv("CONTAINERD_ADDRESS", socket); err != nil { // for both
		return err
	}
	ctr, err := exec.LookPath("ctr")
	if err != nil {
		return err
	}
	ws, n := o.workspace(), atomic.Int64{}
	cli := candidate{name: "ctr run --rm", run: func() (time.Duration, error) {
		name := fmt.Sprintf("sbx-bench-%d-%d", os.Getpid(), n.Add(1)) // ctr makes none up
		return o.candidate("", ctr, "run", "--rm", "--read-only", "--memory-limit", fmt.Sprint(512<<20), "--cpus", "1", "--seccomp",
			"--mount", "type=bind,src="+ws+",dst="+ws+",options=rbind:rw", "--mount", "type=tmpfs,src=tmpfs,dst=/tmp", "--mount", "type=tmpfs,src=tmpfs,dst=/var/tmp",
			"--mount", "type=cgroup,src=cgroup,dst=/sys/fs/cgroup,options=ro", "--cwd", ws, "docker.io/"+benchImage, name, "true").run()
	}}
	return measure(w, o, "containerd", cli, o.cold("containerd"))
}
