//go:build linux && amd64

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The floor is a fair comparison only while it confines.
func TestFloorConfines(t *testing.T) {
	bin := t.TempDir()
	t.Chdir("..")
	if err := buildFloor(bin); err != nil {
		t.Fatal(err)
	}
	floor := filepath.Join(bin, "floor")
	if _, err := os.Stat(floor); err != nil {
		require(t, "no C compiler")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, outside, secret := filepath.Join(dir, "ws"), filepath.Join(dir, "outside"), filepath.Join(dir, "secret")
	for _, name := range []string{ws, outside} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	const script = `touch ws/in && cat secret; touch outside/out; echo pid $$; grep -E 'NoNewPrivs|CapBnd|Seccomp:' /proc/self/status; ls /run`
	try := func(argv ...string) string {
		cmd := exec.Command(argv[0], append(argv[1:], "/bin/sh", "-c", script)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil && len(argv) == 1 {
			t.Fatalf("unconfined: %v: %s", err, out)
		}
		return string(out)
	}
	if exec.Command(floor, "user", "--", "/bin/true").Run() != nil {
		require(t, "no user namespaces")
	}

	try("/usr/bin/env") // the control: all of it works
	for _, name := range []string{filepath.Join(ws, "in"), filepath.Join(outside, "out")} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	o := options{bin: bin}
	layers, err := o.layers([]spot{
		{kind: shut, path: "/dev", dir: true},
		{kind: terminals, path: "/dev/pts", dir: true},
		{kind: shown, path: "/dev/null"},
		{kind: shut, path: "/run", dir: true},
		{kind: writable, path: ws, dir: true},
		{kind: hidden, path: secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	said := try(append(append([]string{floor}, wordsOf(layers)...), "--")...)
	if _, err := os.Stat(filepath.Join(ws, "in")); err != nil {
		t.Errorf("the workspace is not writable: %v: %s", err, said)
	}
	if _, err := os.Stat(filepath.Join(outside, "out")); err == nil {
		t.Error("a file was made outside")
	}
	for _, want := range []string{"pid 2\n", "NoNewPrivs:\t1", "CapBnd:\t0000000000000000", "Seccomp:\t2"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if strings.Contains(said, "secret\n") || strings.HasPrefix(said, "secret") {
		t.Errorf("the hidden file was read: %s", said)
	}
}

func TestCostsOf(t *testing.T) {
	costs, err := costsOf("10\t2\tmkdir\n900\t1\tunshare\n30\t2\tmkdir\n700\t1\tunshare\n")
	if err != nil || len(costs) != 2 || costs[0].name != "unshare" || costs[1].calls != "2" || costs[1].at(0) != 10 || costs[1].at(1) != 30 {
		t.Errorf("got %+v, %v", costs, err)
	}
	for _, text := range []string{"x\t1\topen\n", "1\topen\n"} {
		if _, err := costsOf(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// require skips what this machine cannot do, unless SBX_REQUIRE names direct.
func require(t *testing.T, why string) {
	t.Helper()
	if strings.Contains(os.Getenv("SBX_REQUIRE"), "direct") {
		t.Fatal(why)
	}
	t.Skip(why)
}
