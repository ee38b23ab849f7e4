package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func docker(args ...string) *exec.Cmd {
	return exec.Command("docker", append([]string{"--host", os.Getenv(engineVar)}, args...)...)
}

func needEngine(t *testing.T, backend string) {
	t.Helper()
	variable := engineVars[backend]
	switch {
	case backend == "containerd" && os.Geteuid() != 0:
		t.Skip("the tests' containerd is root's")
	case os.Getenv(variable) != "":
	case slices.Contains(strings.Split(os.Getenv(requireVar), ","), backend):
		t.Fatalf("%s is not set: scripts/engines.sh start DIR %s", variable, backend)
	default:
		t.Skipf("%s is not set: scripts/engines.sh start DIR %s", variable, backend)
	}
}

// nestedImage makes an image of busybox and this sbx, and nothing else.
func nestedImage(t *testing.T) string {
	t.Helper()
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	add := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]int64{
		"bin/": 0o755, "dev/": 0o755, "etc/": 0o755, "home/": 0o755, "home/u/": 0o777, "home/u/.ssh/": 0o755, "out/": 0o1777, "proc/": 0o755,
		"root/": 0o700, "run/": 0o755, "sys/": 0o755, "tmp/": 0o1777, "var/": 0o755, "var/tmp/": 0o1777, "ws/": 0o777, "ci/": 0o755,
	} {
		h := tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}
		if name == "ci/" {
			h.Uid, h.Gid = 1001, 1001
		}
		add(h, nil)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"bin/busybox": busybox, "bin/sbx": filepath.Join(os.Getenv(binVar), "sbx")} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755}, data)
	}
	for _, name := range []string{"cat", "echo", "grep", "id", "ls", "sh", "sleep", "touch", "true"} {
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox"}, nil)
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0:root:/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\n"))
	add(tar.Header{Typeflag: tar.TypeReg, Name: "home/u/.ssh/id", Mode: 0o644}, []byte("canary-secret\n"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("sbx-test/nested:%d", os.Getpid())
	cmd := docker("import", "-", name)
	cmd.Stdin = &image
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("docker import: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := docker("rmi", "--force", name).CombinedOutput(); err != nil {
			t.Errorf("docker rmi: %v\n%s", err, out)
		}
	})
	return name
}

// nestedScript confines in a container. Each denial has its control, and is
// looked at from outside the sandbox.
const nestedScript = `exec 2>&1
echo x >/out/control && cat /home/u/.ssh/id >/dev/null && echo control-works
sbx exec --result /out/r -- sh -c 'id -u; echo x >in && echo in-works; echo x >/out/denied; cat /home/u/.ssh/id; echo x >$TMPDIR/f && echo temp-works; sleep 300 & exit 7'
echo status-$?
ls /out/denied 2>/dev/null && echo ESCAPED
grep -l '^sleep' /proc/[0-9]*/comm && echo LEFT
for d in /tmp /dev/shm; do ls $d | grep sbx-run && echo LEFT; done
sbx exec --require full -- true; echo required-full-$?
echo RESULT; cat /out/r`

// A sandbox inside Docker works at the tier that is possible there, and the
// record says which.
func TestInsideDocker(t *testing.T) {
	needEngine(t, "docker")
	image := nestedImage(t)
	home := []string{"--env", "HOME=/home/u"}
	for _, tt := range []struct {
		name string
		args []string
		tier string
		uid  string
	}{
		{"default", home, "landlock", "0"},
		{"user", append(home, "--user", "1000:1000"), "landlock", "1000"},
		{"user without an account or a home", []string{"--user", "4242:4242"}, "landlock", "4242"},
		{"home is empty", []string{"--user", "4242:4242", "--env", "HOME="}, "landlock", "4242"},
		{"home cannot be read", []string{"--user", "1000:1000", "--env", "HOME=/root"}, "landlock", "1000"},
		{"cap-drop ALL", append(home, "--cap-drop", "ALL"), "landlock", "0"},
		{"no-new-privileges", append(home, "--security-opt", "no-new-privileges"), "landlock", "0"},
		{"read-only", append(home, "--read-only", "--tmpfs", "/ws:mode=1777"), "landlock", "0"},
		{"read-only, user, cap-drop ALL", []string{"--read-only", "--tmpfs", "/ws:mode=1777", "--user", "4242:4242", "--cap-drop", "ALL"}, "landlock", "4242"},
		// Root in a container, the checkout belongs to the runner.
		{"CI job", []string{"--env", "CI=true", "--env", "HOME=/github/home", "--workdir", "/ci"}, "landlock", "1001"},
		{"no system call filter", append(home, "--security-opt", "seccomp=unconfined"), "full-noproc", "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"run", "--rm", "--network", "none", "--workdir", "/ws", "--tmpfs", "/out:mode=1777"}, tt.args...)
			out, err := docker(append(args, image, "sh", "-c", nestedScript)...).CombinedOutput()
			text, record, _ := strings.Cut(string(out), "RESULT\n")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range []string{"control-works\n", "\n" + tt.uid + "\n", "in-works\n", "temp-works\n", "status-7\n", "required-full-125\n", "tier full: "} {
				if !strings.Contains("\n"+text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			forbidden := []string{"ESCAPED", "LEFT"}
			if slices.Contains(tt.args, "HOME=/home/u") {
				forbidden = append(forbidden, "canary-secret")
			}
			for _, bad := range forbidden {
				if strings.Contains(text, bad) {
					t.Errorf("%q in\n%s", bad, text)
				}
			}
			if err := validate("result", []byte(record)); err != nil {
				t.Errorf("%v\n%s", err, record)
			}
			var r sandbox.Result
			if err := json.Unmarshal([]byte(record), &r); err != nil || r.Tier != tt.tier || r.ExitCode != 7 || !slices.Contains(r.Enforced, sandbox.WritesConfined) {
				t.Errorf("%v, tier %q, want %q\n%s", err, r.Tier, tt.tier, record)
			}
		})
	}
}
