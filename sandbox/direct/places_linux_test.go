//go:build amd64 || arm64

package direct_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// Where the full tier is refused the next one takes over and says why.
func TestFallsDown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make such places")
	}
	for _, tt := range []struct{ name, place, tier, why string }{
		{"here", "", "full", ""},
		{"no user namespaces", "unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec \"$@\"' sh", "landlock", "make namespaces: no space left on device"},
		{"masked proc", "unshare -m sh -c 'mount -t tmpfs x /proc/acpi || exit 99; exec \"$@\"' sh", "full-noproc", ""},
		{"no executable memory files", "unshare -p -f --mount-proc sh -c 'echo 2 >/proc/sys/vm/memfd_noexec; \"$@\"' sh", "full", ""},
		{"executable memory files asked for", "unshare -p -f --mount-proc sh -c 'echo 1 >/proc/sys/vm/memfd_noexec; \"$@\"' sh", "full", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRoom(t, full)
			r.tier = ""
			cmd, file := r.supervised(orders{Argv: []string{"sh", "-c", "echo ran; exit 7"}})
			if tt.place != "" {
				cmd.Args = []string{"sh", "-c", tt.place + ` "$@"`, "sh", cmd.Path}
				cmd.Path = "/bin/sh"
			}
			out, _ := cmd.CombinedOutput()
			result := readResult(t, file, out)
			if string(out) != "ran\n" || result.ExitCode != 7 || result.Tier != tt.tier {
				t.Errorf("tier %s, want %s: exit %d, %s", result.Tier, tt.tier, result.ExitCode, out)
			}
			if tt.why != "" && !strings.Contains(fmt.Sprint(result.Gaps), tt.why) {
				t.Errorf("no gap says %q: %+v", tt.why, result.Gaps)
			}
		})
	}
}

// Nobody has to be listed in /etc/passwd, or to have a home.
func TestFullWithoutAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to be somebody else")
	}
	const nobody = 54321
	r := newRoom(t, full)
	exe := r.dir + "/bin/supervisor"
	check(t, os.Mkdir(r.dir+"/bin", 0o755))
	text, err := os.ReadFile(self(t))
	check(t, err)
	check(t, os.WriteFile(exe, text, 0o755))
	check(t, os.Chown(r.workspace, nobody, nobody))
	check(t, os.Mkdir(r.dir+"/results", 0o777))
	check(t, os.Chmod(r.dir+"/results", 0o777))
	r.profile.Home, r.profile.Read = "", nil
	cmd, _ := r.supervised(orders{Argv: []string{"sh", "-c", "id -u; touch made; cat /proc/self/uid_map"}})
	file := r.dir + "/results/r"
	cmd.Path, cmd.Args = exe, []string{exe}
	cmd.Env = append(slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "HOME=") }), "SBX_RESULT_FILE="+file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{}}}
	out, _ := cmd.CombinedOutput()
	// os/exec changes credentials in a child that shares this process's memory,
	// after which the kernel lets nobody look at it.
	check(t, unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
	if f := strings.Fields(string(out)); strings.Join(f, " ") != "54321 54321 54321 1" {
		t.Errorf("%q", out)
	}
	if got := readResult(t, file, out); got.ExitCode != 0 || got.Tier != full {
		t.Errorf("%+v", got)
	}
	var st unix.Stat_t
	if err := unix.Stat(r.workspace+"/made", &st); err != nil || st.Uid != nobody {
		t.Errorf("the file belongs to %d, %v", st.Uid, err)
	}
}

// A profile may refuse what is weaker.
func TestMinTier(t *testing.T) {
	r := newRoom(t, full)
	r.tier = ""
	for tier, ok := range map[string]bool{"": true, "full": true, "landlock": true, "strongest": false} {
		r.profile.MinTier = tier
		s, err := r.backendOpen()
		if (err == nil) != ok || err != nil && !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%q: %v", tier, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	r.profile.MinTier = "full"
	cmd, _ := r.supervised(orders{Argv: []string{"touch", r.workspace + "/ran"}})
	cmd.Args = []string{"sh", "-c", `exec unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"' sh "$@"`, "sh", cmd.Path}
	cmd.Path = "/bin/sh"
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("full is required where it is refused: %v\n%s", err, out)
	}
	if _, err := os.Stat(r.workspace + "/ran"); err == nil {
		t.Error("it ran all the same")
	}
}
