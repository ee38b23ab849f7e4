//go:build linux

package sbx

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Where nothing can be kept, as in a container with a read-only root.
func TestFreshWhereNothingCanBeKept(t *testing.T) {
	e := testEngine(t, Options{Environ: []string{"HOME=/proc/self/nowhere", "TMPDIR=/proc/self/nowhere", "USER=x"}})
	p, err := e.openFresh(nil, nil)
	must(t, err)
	if !strings.HasPrefix(p.dir, "/dev/shm/"+freshPrefix) || !exists(p.temp()) || !exists(p.cache()) {
		t.Errorf("%s", p.dir)
	}
	for range 2 {
		if !p.firstTime("a") {
			t.Error("something is remembered in a directory that goes")
		}
	}
	p.close()
	if exists(p.dir) {
		t.Errorf("%s is left", p.dir)
	}
	if p, err := e.openFresh(nil, []string{"/dev/shm"}); err == nil {
		p.close()
		t.Errorf("%s lies where the command may write", p.dir)
	}
	if os.Geteuid() != 0 {
		return
	}
	p, err = e.openFresh(&sandbox.Identity{UID: 54321, GID: 54321}, nil)
	must(t, err)
	defer p.close()
	info, err := os.Lstat(p.temp())
	if err != nil || identify(info).uid != 54321 || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestFreshHolder is the process that the next test kills.
func TestFreshHolder(t *testing.T) {
	base := os.Getenv("SBX_FRESH_BASE")
	if base == "" {
		return
	}
	p, err := makeFresh(base, nil)
	must(t, err)
	must(t, os.WriteFile(p.temp()+"/f", []byte("left"), 0o400))
	fmt.Println("made", p.dir)
	time.Sleep(time.Minute)
}

func hold(t *testing.T, base string) (dir string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFreshHolder$")
	cmd.Env = append(os.Environ(), "SBX_FRESH_BASE="+base)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	kill = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "made "); ok {
			return name, kill
		}
	}
	t.Fatal("the holder says nothing")
	return "", nil
}

// What a killed sbx left goes at the next start; what is in use stays, and so does
// what belongs to another user or is being made.
func TestFreshIsReaped(t *testing.T) {
	base := t.TempDir()
	must(t, os.Chmod(base, 0o777|os.ModeSticky)) // as /tmp
	live, _ := hold(t, base)
	dead, kill := hold(t, base)
	kill()
	young, old := filepath.Join(base, freshPrefix+"young"), filepath.Join(base, freshPrefix+"old")
	other, unlike := filepath.Join(base, freshPrefix+"other"), filepath.Join(base, "other")
	kept := []string{live, live + "/tmp/f", young, unlike}
	long := time.Now().Add(-2 * youngAge)
	for _, dir := range []string{young, old, other, unlike} {
		must(t, os.Mkdir(dir, 0o700))
	}
	must(t, os.Symlink(live, filepath.Join(base, freshPrefix+"link")))
	must(t, os.Symlink(live+"/tmp", old+"/link"))
	if os.Geteuid() == 0 {
		must(t, os.Lchown(other, 54321, 54321))
		kept = append(kept, other)
	}
	for _, dir := range []string{old, other, unlike} {
		must(t, os.Chtimes(dir, long, long))
	}
	reapFresh(base)
	for _, dir := range kept {
		if !exists(dir) {
			t.Errorf("%s is gone", dir)
		}
	}
	for _, dir := range []string{dead, old} {
		if exists(dir) {
			t.Errorf("%s is left", dir)
		}
	}
	// In a directory of one's own what has no lock is dead unless somebody makes one.
	must(t, os.Chmod(base, 0o700))
	making := gate(base)
	must(t, lockShared(making))
	reapFresh(base)
	if !exists(young) {
		t.Error("a directory that is being made is gone")
	}
	must(t, making.Close())
	reapFresh(base)
	if exists(young) || !exists(live+"/tmp/f") {
		t.Error("a directory that nobody makes is left, or a live one is gone")
	}
	// A hundred start and look at once: none takes another's away.
	done := make(chan error)
	for range 100 {
		go func() {
			reapFresh(base)
			p, err := makeFresh(base, nil)
			if err == nil {
				reapFresh(base)
				_, err = os.Stat(p.temp())
				p.close()
			}
			done <- err
		}()
	}
	for range 100 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
