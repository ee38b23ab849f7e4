package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command in a container ends with sbx, with its helper, or with the caller in
// wrapper mode, when one of them is killed with SIGKILL.
func TestKilledWithContainer(t *testing.T) {
	for _, backend := range []string{"docker", "containerd"} {
		for _, victim := range []string{"sbx", "helper", "caller"} {
			t.Run(backend+"/"+victim, func(t *testing.T) {
				needEngine(t, backend)
				killWithContainer(t, backend, victim)
			})
		}
	}
}

func killWithContainer(t *testing.T, backend, victim string) {
	t.Helper()
	dir := scriptsRoot(t)
	for _, name := range []string{"home", "ws"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mark := fmt.Sprintf("600.%d", time.Now().UnixNano())
	argv := []string{
		filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--backend", backend, "--image", "sbx-test/busybox:1", "--", "sh", "-c",
		"trap '' TERM; setsid sleep " + mark + " & touch ready; sleep " + mark,
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	env := []string{"HOME=" + filepath.Join(dir, "home"), "PATH=" + searchPath(), "DOCKER_HOST=" + os.Getenv(engineVar), "CONTAINERD_ADDRESS=" + os.Getenv(socketVar)}
	if victim == "caller" {
		// A shell that waits is the caller, and its command knows it as its parent.
		cmd = exec.Command("sh", append([]string{"-c", `"$@"; exit $?`, "sh"}, argv...)...)
		env = append(env, "PEPE_SANDBOX_CWD="+filepath.Join(dir, "ws"), "PEPE_SANDBOX_NET=none")
	}
	cmd.Dir, cmd.Env = filepath.Join(dir, "ws"), env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	running := func() bool { return len(processes(t, "sleep\x00"+mark)) > 0 }
	awaitOrFail(t, "the command does not start", func() bool {
		_, err := os.Stat(filepath.Join(dir, "ws", "ready"))
		return err == nil && running() // the control
	})
	pid := cmd.Process.Pid
	if victim == "helper" {
		pid = childNamed(t, pid, "sbx-backend-"+backend)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitOrFail(t, "the command goes on", func() bool { return !running() })
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); victim == "helper" && code != exitNotStarted {
		t.Errorf("status %d: the outcome is unknown", code)
	}
}

// awaitOrFail waits until something is so.
func awaitOrFail(t *testing.T, otherwise string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(otherwise)
		}
	}
}

// childNamed finds a child of a process by the name of its program.
func childNamed(t *testing.T, parent int, name string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/" + strconv.Itoa(parent) + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(text)) {
			if line, err := os.ReadFile("/proc/" + field + "/cmdline"); err == nil && strings.Contains(string(line), name) {
				pid, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				return pid
			}
		}
	}
	t.Fatalf("process %d has no child %s", parent, name)
	return 0
}
