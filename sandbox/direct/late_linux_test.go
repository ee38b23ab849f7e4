package direct_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// What somebody outside puts in a credential's place while a command runs: the
// plan must say credentials-late where it can be read, and it must not be
// readable where the plan promises it.
func TestLateCredentials(t *testing.T) { eachTier(t, testLateCredentials) }

func testLateCredentials(r *room) {
	t := r.T
	open, shut := r.unconfined(), r.confined()
	for i, name := range []string{".netrc", ".pgpass"} { // replaced, and made
		file, secret := r.home+"/"+name, "late-"+name
		if out := r.late(open, file, secret); !strings.Contains(out, secret) {
			t.Fatalf("control: %s: %q", name, out)
		}
		check(t, os.Remove(file))
		if i == 0 {
			check(t, os.WriteFile(file, []byte("an older one"), 0o644))
		}
		out := r.late(shut, file, secret)
		if read := strings.Contains(out, secret); read != r.isFull() || strings.Contains(out, "an older one") {
			t.Errorf("%s: %q", name, out)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != secret {
			t.Errorf("canary: %s holds %q: %v", name, text, err)
		}
	}
	plan, err := shut.Plan(sandbox.Command{Argv: []string{"true"}, Env: r.env()})
	check(t, err)
	named, promised := false, false
	for _, g := range plan.Gaps {
		named = named || g.Control == sandbox.CredentialsLate
	}
	for _, c := range plan.Enforced {
		promised = promised || c == sandbox.CredentialsLate
	}
	if named != r.isFull() || promised == named {
		t.Errorf("gap named: %v; promised: %v", named, promised)
	}
}

// A directory of credentials stays covered when files in it are replaced. One
// that is put in the place of another is as a new file.
func TestLateCredentialDirectories(t *testing.T) { eachTier(t, testLateCredentialDirectories) }

func testLateCredentialDirectories(r *room) {
	t, dir := r.T, r.home+"/.ssh"
	if out := r.late(r.unconfined(), dir+"/id", "late-id"); out != "late-id" {
		t.Fatalf("control: %q", out)
	}
	s := r.confined()
	if out := r.late(s, dir+"/id", "late-id"); strings.Contains(out, "late-id") {
		t.Errorf("a file in a hidden directory was replaced: %q", out)
	}
	out := r.meanwhile(s, dir+"/id", func() error {
		return errors.Join(os.Rename(dir, r.home+"/.ssh-old"), os.Mkdir(dir, 0o755), os.WriteFile(dir+"/id", []byte("late-dir"), 0o644))
	})
	if strings.Contains(out, "late-dir") != r.isFull() {
		t.Errorf("a hidden directory was replaced: %q", out)
	}
}

// Landlock goes by the file, not by its name: what could be read under another
// name when the command started can be read under a hidden one (SECURITY.md).
func TestLateCredentialsOfOtherNames(t *testing.T) {
	r := newRoom(t, landlock)
	file, other := r.home+"/.netrc", r.home+"/.netrc.bak"
	check(t, os.WriteFile(other, []byte("was open"), 0o644))
	s := r.confined()
	if out, _ := r.run(s, "cat", other); out != "was open" {
		t.Fatalf("%q", out)
	}
	if out := r.meanwhile(s, file, func() error { return os.Rename(other, file) }); out != "was open" {
		t.Errorf("%q: then SECURITY.md says too little", out)
	}
	if out, _ := r.run(s, "cat", file); strings.Contains(out, "was open") {
		t.Errorf("the next command read it: %q", out)
	}
}

// Who requires it is refused in a tier that cannot give it.
func TestLateCredentialsRequired(t *testing.T) {
	r := newRoom(t, full)
	r.profile.Required = []sandbox.Control{sandbox.CredentialsLate}
	if s, err := r.backendOpen(); err == nil {
		check(t, s.Close())
		t.Error("required, missing, and not refused")
	} else if !strings.Contains(err.Error(), "credentials-late") {
		t.Error(err)
	}
	s := r.open(backend("")) // any tier: one that gives it
	if plan, err := s.Plan(sandbox.Command{Argv: []string{"true"}, Env: r.env()}); err != nil || plan.Tier != landlock {
		t.Errorf("required: tier %q: %v", plan.Tier, err)
	}
}

// A workspace that holds places of credentials has them all readable under
// Landlock once they are there.
func TestLateCredentialsInWorkspace(t *testing.T) {
	r := newRoom(t, landlock)
	check(t, os.Mkdir(r.workspace+"/home", 0o755))
	r.profile.Home = r.workspace + "/home"
	s := r.confined()
	if out := r.late(s, r.profile.Home+"/.netrc", "late-in-workspace"); !strings.Contains(out, "late-in-workspace") {
		t.Errorf("%q", out)
	}
	check(t, os.Remove(r.profile.Home+"/.netrc"))
	plan, err := s.Plan(sandbox.Command{Argv: []string{"true"}, Env: r.env()})
	check(t, err)
	for _, c := range plan.Enforced {
		if c == sandbox.CredentialsLate {
			t.Error("it is promised")
		}
	}
}

// late starts a command that waits, renames a new file to the name, as programs
// do it, and returns what the command then reads there.
func (r *room) late(s sandbox.Session, file, secret string) string {
	r.Helper()
	next := file + ".probe-next"
	return r.meanwhile(s, file, func() error {
		return errors.Join(os.WriteFile(next, []byte(secret), 0o644), os.Rename(next, file))
	})
}

// meanwhile changes something while a command waits, and returns what the
// command then reads.
func (r *room) meanwhile(s sandbox.Session, file string, change func() error) string {
	r.Helper()
	started, ready := r.workspace+"/started", r.workspace+"/ready"
	_, _ = os.Remove(started), os.Remove(ready)
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Lstat(started); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		done <- errors.Join(change(), os.WriteFile(ready, nil, 0o644))
	}()
	out, _ := r.run(s, "sh", "-c", `: >"$1" && while [ ! -e "$2" ]; do sleep 0.02; done; cat "$3"`, "sh", started, ready, file)
	cancel()
	check(r, <-done)
	return out
}
