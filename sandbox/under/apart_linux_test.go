//go:build amd64 || arm64

package under_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/bwrap"
	"github.com/sbx-run/sbx/sandbox/firejail"
)

func backends() map[string]sandbox.Backend {
	return map[string]sandbox.Backend{bwrap.Name: bwrap.New(), firejail.Name: firejail.New()}
}

// asVar makes the test binary run one command by the backend that it names. The
// workspace is the directory where it starts.
const asVar = "SBX_UNDER_BACKEND"

func TestMain(m *testing.M) {
	b := backends()[os.Getenv(asVar)]
	if b == nil {
		os.Exit(m.Run())
	}
	workspace, err := os.Getwd()
	var s sandbox.Session
	if err == nil {
		s, err = b.Open(context.Background(), sandbox.Profile{Workspace: workspace, Home: os.Getenv("HOME"), Supervisor: true, Protect: []string{}})
	}
	var result sandbox.Result
	if err == nil {
		result, err = s.Run(context.Background(), sandbox.Command{Argv: os.Args[1:], Env: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr})
	}
	if err != nil {
		os.Stderr.WriteString("error: " + err.Error() + "\n")
		os.Exit(125)
	}
	os.Exit(result.ExitCode)
}

// host mounts a file system while a command runs, in a mount namespace whose mounts
// are shared with whoever wants to follow, as those of most hosts are. The first
// argument is where.
const host = `
mount --make-rshared / || exit 99
place=$1 && shift
"$@" &
while [ ! -e here ]; do kill -0 $! 2>/dev/null || exit 98; sleep 0.05; done
mount -t tmpfs -o mode=1777 sbx-test "$place" && : >"$place/mounted" && : >go
wait $!
status=$?
ls "$place"
exit $status
`

// What the host mounts while a command runs cannot be written: the mounts of the
// command do not follow. Without a sandbox it can, and under a bwrap that nobody
// looks after.
func TestMountsOfTheHostDoNotFollow(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root alone mounts")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := func(place string) []string {
		return []string{"sh", "-c", `: >here; until [ -e go ]; do sleep 0.05; done; (: >"$0/written") 2>/dev/null; ls "$0"`, place}
	}
	for _, name := range []string{"", "plain bwrap", bwrap.Name, firejail.Name} {
		t.Run(name, func(t *testing.T) {
			argv, env := []string{self}, asVar+"="+name
			if b := backends()[name]; b != nil {
				if _, err := b.Probe(t.Context()); err != nil {
					if slices.Contains(strings.Split(os.Getenv("SBX_REQUIRE"), ","), name) {
						t.Fatal(err)
					}
					t.Skip(err)
				}
			} else if argv = []string{"env"}; name != "" {
				if _, err := exec.LookPath("bwrap"); err != nil {
					t.Skip(err)
				}
				argv = []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev"}
			}
			dir, err := os.MkdirTemp("/srv", "sbx-under-")
			if err != nil {
				t.Skip(err)
			}
			defer os.RemoveAll(dir)
			workspace, place := filepath.Join(dir, "ws"), filepath.Join(dir, "place")
			for _, d := range []string{workspace, place} {
				if err := os.Mkdir(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if name == "plain bwrap" {
				argv = append(argv, "--bind", workspace, workspace)
			}
			argv = slices.Concat([]string{"--mount", "--propagation", "private", "sh", "-c", host, "sh", place}, argv, command(place))
			cmd := exec.Command("unshare", argv...)
			cmd.Dir, cmd.Env = workspace, []string{"HOME=/root", "PATH=/usr/local/bin:/usr/bin:/bin", env}
			var out, said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &said
			var exit *exec.ExitError
			if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			wrote := strings.Contains(out.String(), "written")
			if confined := backends()[name] != nil; !strings.Contains(out.String(), "mounted") || wrote == confined {
				t.Errorf("%v, %q, %q", exit, out.String(), said.String())
			}
		})
	}
}
