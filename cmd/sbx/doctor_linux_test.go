package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// said is the findings of a level as one text.
func (c *doctorCall) said(l level) string {
	var text []string
	for _, f := range c.findings {
		if f.Level == l {
			text = append(text, f.What+" | "+f.Do)
		}
	}
	return strings.Join(text, "\n")
}

func TestDoctorKernel(t *testing.T) {
	refused := errors.New("operation not permitted")
	good := kernelState{release: "6.12.0", landlock: 7, maxUser: "15000", label: "unconfined"}
	with := func(change func(*kernelState)) kernelState {
		k := good
		change(&k)
		return k
	}
	for _, tt := range []struct {
		name  string
		k     kernelState
		level level
		words []string
	}{
		{"all is well", good, levelOK, []string{"Landlock ABI 7", "user namespaces can be made"}},
		{"no Landlock", with(func(k *kernelState) { k.landlockErr = unix.EOPNOTSUPP }), levelBroken, []string{"Landlock cannot be used", "lsm="}},
		{"before Landlock", with(func(k *kernelState) { k.landlockErr = unix.ENOSYS }), levelBroken, []string{"Linux 5.13"}},
		{"in a container", with(func(k *kernelState) { k.landlockErr, k.container = unix.EPERM, "/.dockerenv exists" }), levelBroken, []string{"in a container its filter"}},
		{"no truncate", with(func(k *kernelState) { k.landlock = 2 }), levelWarning, []string{"truncate", "Linux 6.2"}},
		{"no scopes", with(func(k *kernelState) { k.landlock = 5 }), levelNote, []string{"signals", "Linux 6.12"}},
		{"maximum 0", with(func(k *kernelState) { k.userErr, k.maxUser = refused, "0" }), levelWarning, []string{"user.max_user_namespaces is 0", "sysctl -w user.max"}},
		{"Debian's switch", with(func(k *kernelState) { k.userErr, k.cloneAllowed = refused, "0" }), levelWarning, []string{"kernel.unprivileged_userns_clone is 0", "=1"}},
		{"Ubuntu's switch", with(func(k *kernelState) { k.userErr, k.apparmorOnly = refused, "1" }), levelWarning, []string{"AppArmor takes their rights away", "rule userns"}},
		{"a profile", with(func(k *kernelState) { k.userErr, k.label = refused, "snap.code.code (enforce)" }), levelWarning, []string{"the profile snap.code.code"}},
		{"an engine", with(func(k *kernelState) { k.userErr, k.container = refused, "/run/.containerenv exists" }), levelWarning, []string{"this is a container (/run/.containerenv exists)"}},
		{"a filter", with(func(k *kernelState) { k.userErr, k.seccomp = refused, "2" }), levelWarning, []string{"a filter of system calls"}},
		{"max 0 in a container", with(func(k *kernelState) { k.userErr, k.maxUser, k.container = refused, "0", "/.dockerenv exists" }), levelWarning, []string{"user.max_user_namespaces is 0"}},
		{"nobody knows", with(func(k *kernelState) { k.userErr = refused }), levelWarning, []string{"operation not permitted"}},
	} {
		c := newDoctorCall()
		c.kernelFindings(tt.k)
		if tt.k.userErr != nil && strings.Count(c.said(levelWarning), "user namespaces cannot be used") != 1 {
			t.Errorf("%s: not one reason: %+v", tt.name, c.findings)
		}
		for _, words := range tt.words {
			if !strings.Contains(c.said(tt.level), words) {
				t.Errorf("%s: no %q among %+v", tt.name, words, c.findings)
			}
		}
	}
}

// What forbids user namespaces is not said where they work.
func TestDoctorNamespacesWork(t *testing.T) {
	c := newDoctorCall()
	c.kernelFindings(kernelState{landlock: 7, maxUser: "0", cloneAllowed: "0", apparmorOnly: "1", container: "x"})
	if c.count(levelWarning)+c.count(levelBroken) != 0 {
		t.Errorf("%+v", c.findings)
	}
}

func TestDoctorLinks(t *testing.T) {
	dir := t.TempDir()
	ws, outside := filepath.Join(dir, "ws"), filepath.Join(dir, "outside")
	for _, d := range []string{ws, filepath.Join(ws, "sub"), outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "theirs"))
	write(filepath.Join(ws, "ours"))
	write(filepath.Join(ws, "plain"))
	for _, err := range []error{
		os.Link(filepath.Join(outside, "theirs"), filepath.Join(ws, "sub", "shared")),
		os.Link(filepath.Join(ws, "ours"), filepath.Join(ws, "sub", "second")), // both names inside
		os.Symlink("../ours", filepath.Join(ws, "sub", "inside")),
		os.Symlink(ws, filepath.Join(ws, "itself")),
		os.Symlink("../../outside/theirs", filepath.Join(ws, "sub", "out")),
		os.Symlink("/nonexistent/file", filepath.Join(ws, "loose")),
		os.Symlink("nothing", filepath.Join(ws, "loose-inside")),
		os.Symlink("/usr/bin/env", filepath.Join(ws, "env")),
		os.Symlink("/usr/no-such-file", filepath.Join(ws, "loose-in-usr")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := linkSearch{root: ws, names: map[fileID][]string{}, links: map[fileID]uint64{}}
	if !s.walk(t.Context()) {
		t.Fatal("the search did not end")
	}
	hard, inside := s.shared()
	slices.Sort(s.out)
	if !slices.Equal(hard, []string{"sub/shared"}) || inside != 1 || !slices.Equal(s.out, []string{"loose", "loose-in-usr", "sub/out"}) || !slices.Equal(s.system, []string{"env"}) {
		t.Errorf("hard %q, inside %d, out %q", hard, inside, s.out)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if (&linkSearch{root: ws}).walk(ended) {
		t.Error("a search that was ended says that it saw all")
	}
	c := newDoctorCall()
	c.workspace = ws
	c.links(t.Context())
	if said := c.said(levelWarning); !strings.Contains(said, "1 file has") || !strings.Contains(said, "sub/shared") || !strings.Contains(said, "3 symbolic links lead") {
		t.Error(said)
	}
}

// Directories of runs that were killed are found by name, owner and age, and
// nothing else is.
func TestDoctorStrays(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "TMPDIR", "XDG_CACHE_HOME"} {
		t.Setenv(name, home)
	}
	old := time.Now().Add(-strayAge - time.Minute)
	for name, when := range map[string]time.Time{".sbx-setup-1": old, "sbx-probe-2": old, "sbx-probe-3": time.Now(), "sbx-other-4": old, "project": old} {
		dir := filepath.Join(home, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "f"), nil, 0o644), os.Chtimes(dir, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, dir := range strays() {
		if filepath.Dir(dir) == home {
			got = append(got, filepath.Base(dir))
		}
	}
	if want := []string{".sbx-setup-1", "sbx-probe-2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAgo(t *testing.T) {
	for _, tt := range []struct {
		age  time.Duration
		want string
	}{
		{0, "measured now"},
		{-time.Hour, "measured in the future, by this clock"},
		{40 * time.Second, "measured 40 seconds ago"},
		{16 * time.Minute, "measured 16 minutes ago"},
		{5 * time.Hour, "measured 5 hours ago"},
		{72 * time.Hour, "measured 3 days ago"},
	} {
		if got := ago(time.Now().Add(-tt.age)); got != tt.want {
			t.Errorf("%v: %s", tt.age, got)
		}
	}
}
