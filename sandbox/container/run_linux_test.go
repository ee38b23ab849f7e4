package container_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/docker"
	"github.com/sbx-run/sbx/sandbox/landlock"
)

func TestRuns(t *testing.T) {
	eachEngine(t, func(r *room) {
		s := r.open()
		out, result := r.run(s, "sh", "-c", "id -u; pwd; echo x >made; exit 7")
		uid := os.Geteuid()
		if r.engine == docker.Docker && os.Getenv(rootlessVar) != "" {
			uid = 0 // there, the engine's owner
		}
		if want := fmt.Sprint(uid, "\n", r.workspace, "\n"); out != want || result.ExitCode != 7 || result.Ending != sandbox.Exited {
			r.Errorf("%q, %+v", out, result)
		}
		var st syscall.Stat_t
		if err := syscall.Stat(r.workspace+"/made", &st); err != nil || int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
			r.Errorf("made by %d:%d, %v", st.Uid, st.Gid, err)
		}
		if text, err := os.ReadFile(r.workspace + "/made"); err != nil || string(text) != "x\n" {
			r.Errorf("in the workspace: %q, %v", text, err)
		}
		r.leavesNothing()
	})
}

// leavesNothing is the end of most tests.
func (r *room) leavesNothing() {
	r.Helper()
	if left := r.left(); left != "" {
		r.Errorf("left behind: %s", left)
	}
}

func TestEndings(t *testing.T) {
	eachEngine(t, func(r *room) {
		s := r.open()
		check(r, os.WriteFile(r.workspace+"/plain", []byte("x"), 0o644))
		for _, c := range []struct {
			argv   []string
			code   int
			signal int
			ending sandbox.Ending
		}{
			{[]string{"sh", "-c", "exit 0"}, 0, 0, sandbox.Exited},
			{[]string{"sh", "-c", "exit 125"}, 125, 0, sandbox.Exited},
			{[]string{"sh", "-c", "exit 137"}, 137, 0, sandbox.Exited},
			{[]string{"sh", "-c", "exit 255"}, 255, 0, sandbox.Exited},
			{[]string{"sh", "-c", "kill -9 $$"}, 137, 9, sandbox.Signaled},
			{[]string{"sh", "-c", "kill -TERM $$"}, 143, 15, sandbox.Signaled},
			{[]string{"no-such-program"}, 127, 0, sandbox.NotFound},
			{[]string{r.workspace + "/plain"}, 126, 0, sandbox.NotExec},
		} {
			_, got := r.run(s, c.argv...)
			if got.ExitCode != c.code || got.Signal != c.signal || got.Ending != c.ending {
				r.Errorf("%q: %d, signal %d, %s", c.argv, got.ExitCode, got.Signal, got.Ending)
			}
		}
		r.leavesNothing()
	})
}

// A command begins with its limit on the size of files: what it starts at once has
// it, too. Its parent, the first process, shows that.
func TestFileLimit(t *testing.T) {
	eachEngine(t, func(r *room) {
		r.profile.Limits.FileBytes = 1 << 20
		out, result := r.run(r.open(), "sh", "-c", "grep 'Max file size' /proc/1/limits; dd if=/dev/zero of=big bs=1048576 count=2")
		if fields := strings.Fields(out); len(fields) < 5 || fields[3] != "1048576" || fields[4] != "1048576" || result.Limit != sandbox.OverFileSize {
			r.Errorf("%q, %+v", out, result)
		}
		if info, err := os.Stat(r.workspace + "/big"); err != nil || info.Size() > 1<<20 {
			r.Errorf("%v, %v", info, err)
		}
	})
}

// What goes in and out is the same bytes, on separate streams.
func TestStreams(t *testing.T) {
	eachEngine(t, func(r *room) {
		s := r.open()
		in := []byte("a\x00b\xff\r\n\n")
		var out, diag bytes.Buffer
		result, err := s.Run(r.Context(), sandbox.Command{
			Argv: []string{"sh", "-c", "cat; echo err >&2"}, Env: r.env(), Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &diag, Timeout: longest,
		})
		check(r, err)
		if !bytes.Equal(out.Bytes(), in) || diag.String() != "err\n" {
			r.Errorf("%q, %q", out.Bytes(), diag.String())
		}
		if result.BytesOut == nil || *result.BytesOut != int64(len(in))+4 {
			r.Errorf("bytes %v", result.BytesOut)
		}
		// A file is handed over: what the command writes is there at its own offset.
		file, err := os.Create(r.dir + "/out")
		check(r, err)
		defer file.Close()
		result, err = s.Run(r.Context(), sandbox.Command{
			Argv: []string{"sh", "-c", "head -c 16777216 /dev/zero; test -t 1 || echo none"}, Env: r.env(), Stdout: file, Timeout: longest,
		})
		check(r, err)
		if at, err := file.Seek(0, io.SeekCurrent); err != nil || at != 16777216+5 || result.BytesOut != nil {
			r.Errorf("offset %d, %v, copied %v", at, err, result.BytesOut)
		}
		r.leavesNothing()
	})
}

// Through a directory that is a stream, what lies around it could be opened: it is
// refused, and a file is not.
func TestDirectoryAsInput(t *testing.T) {
	eachEngine(t, func(r *room) {
		run := func(name string) (string, error) {
			in, err := os.Open(name)
			check(r, err)
			defer in.Close()
			var out bytes.Buffer
			_, err = r.open().Run(r.Context(), sandbox.Command{
				Argv: []string{"sh", "-c", "cat; cat /proc/self/fd/0/file"}, Env: r.env(), Stdin: in, Stdout: &out, Stderr: &out, Timeout: longest,
			})
			return out.String(), err
		}
		if out, err := run(filepath.Join(r.outside, "file")); err != nil || !strings.Contains(out, "canary") {
			r.Errorf("control: %q, %v", out, err)
		}
		if out, err := run(r.outside); !errors.Is(err, sandbox.ErrStart) || out != "" {
			r.Errorf("%q, %v", out, err)
		}
	})
}

// A file that is a stream can be opened anew, past all mounts: for writing only when it
// was given for writing. Without a container the same command writes it.
func TestInputIsNotOpenedForWriting(t *testing.T) {
	eachEngine(t, func(r *room) {
		name, script := filepath.Join(r.outside, "file"), "echo bad 1<>/proc/self/fd/0; : >/proc/self/fd/0; truncate -s 0 /proc/self/fd/0"
		given := func(flags int, run func(in *os.File) error) string {
			check(r, os.WriteFile(name, []byte("canary\n"), 0o644))
			in, err := os.OpenFile(name, flags, 0)
			check(r, err)
			defer in.Close()
			_ = run(in)
			text, err := os.ReadFile(name)
			check(r, err)
			return string(text)
		}
		inside := func(script string) func(*os.File) error {
			return func(in *os.File) error {
				var out bytes.Buffer
				_, err := r.open().Run(r.Context(), sandbox.Command{Argv: []string{"sh", "-c", script}, Env: r.env(), Stdin: in, Stdout: &out, Stderr: &out, Timeout: longest})
				abi, _ := landlock.ABI()
				if refused := errors.Is(err, sandbox.ErrStart); err != nil && (!refused || landlock.HoldsStreams(abi)) {
					r.Errorf("%q: %v", script, err)
				}
				return err
			}
		}
		if got := given(os.O_RDONLY, func(in *os.File) error {
			c := exec.Command("sh", "-c", script)
			c.Stdin = in
			return c.Run()
		}); got != "" {
			r.Errorf("control outside: %q", got)
		}
		if got := given(os.O_RDWR, inside("echo it is 1<>/proc/self/fd/0")); got != "it is\n\n" {
			r.Errorf("control, opened for writing: %q", got)
		}
		if got := given(os.O_RDONLY, inside(script)); got != "canary\n" {
			r.Errorf("opened for reading: %q", got)
		}
		// What may be written still may.
		if out, result := r.run(r.open(), "sh", "-c", "mkdir a b; echo x >a/f; mv a/f b/g; ln b/g a/h; : >b/g; echo y >/dev/null; echo out >/dev/stdout"); result.ExitCode != 0 || out != "out\n" {
			r.Errorf("%q, %+v", out, result)
		}
		r.leavesNothing()
	})
}

func TestTimeLimit(t *testing.T) {
	eachEngine(t, func(r *room) {
		s := r.open()
		var result sandbox.Result
		// A command that does not get as far as its trap in time proves nothing.
		for limit := 500 * time.Millisecond; !there(r.workspace+"/ready") && limit < patience; limit *= 4 {
			var err error
			result, err = s.Run(r.Context(), sandbox.Command{
				Argv: []string{"sh", "-c", "trap '' TERM; sleep 600 & setsid sleep 600 & touch ready; while :; do sleep 1; done"}, Env: r.env(),
				Timeout: limit, Grace: 200 * time.Millisecond,
			})
			check(r, err)
		}
		if result.Ending != sandbox.TimedOut || result.Signal != int(syscall.SIGKILL) {
			r.Errorf("%+v", result)
		}
		r.leavesNothing()
	})
}

func TestCancel(t *testing.T) {
	eachEngine(t, func(r *room) {
		s := r.open()
		for _, how := range []string{"context", "orphaned"} {
			ctx, cancel := context.WithCancel(r.Context())
			gone := make(chan struct{})
			go func() {
				await(func() bool { return there(r.workspace + "/" + how) })
				if how == "context" {
					cancel()
				} else {
					close(gone)
				}
			}()
			result, err := s.Run(ctx, sandbox.Command{Argv: []string{"sh", "-c", "touch " + how + "; exec sleep 600"}, Env: r.env(), Orphaned: gone})
			cancel()
			if err != nil || result.Ending != sandbox.Abandoned {
				r.Errorf("%s: %+v, %v", how, result, err)
			}
		}
		r.leavesNothing()
	})
}

func TestSignalsArePassedOn(t *testing.T) {
	eachEngine(t, func(r *room) {
		signals := make(chan os.Signal, 1)
		go func() {
			await(func() bool { return there(r.workspace + "/ready") })
			signals <- syscall.SIGUSR1
		}()
		var out bytes.Buffer
		result, err := r.open().Run(r.Context(), sandbox.Command{
			Argv: []string{"sh", "-c", "trap 'echo heard; exit 3' USR1; touch ready; while :; do sleep 0.05; done"}, Env: r.env(),
			Stdout: &out, Signals: signals, Timeout: longest,
		})
		check(r, err)
		if out.String() != "heard\n" || result.ExitCode != 3 {
			r.Errorf("%q, %+v", out.String(), result)
		}
	})
}

// The engine is asked to run the command as the caller, and nothing the caller
// has in its environment reaches the engine.
func TestEngineSeesNoValue(t *testing.T) {
	eachEngine(t, func(r *room) {
		s := r.open()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Run(context.Background(), sandbox.Command{
				Argv: []string{"sh", "-c", "touch ready; while test -e ready; do sleep 0.05; done"}, Env: append(r.env(), "CANARY=sbx-canary-value"), Timeout: longest,
			})
		}()
		r.appears(r.workspace + "/ready")
		ids := r.containers()
		if len(ids) != 1 {
			r.Fatalf("containers: %q", ids)
		}
		text := r.inspect(ids[0])
		if bytes.Contains(text, []byte("sbx-canary-value")) || !bytes.Contains(text, []byte("run.sbx.workspace")) || bytes.Contains(text, []byte("docker.sock")) {
			r.Errorf("%s", text)
		}
		check(r, os.Remove(r.workspace+"/ready"))
		<-done
		r.leavesNothing()
	})
}

// Names that would be an option, a list or a pattern to a command line.
func TestOddWorkspaces(t *testing.T) {
	eachEngine(t, func(r *room) {
		for _, name := range []string{"a b", "a:ro", "a,b", `a'b"c`, "a\nb", "-rf", "$(touch x)", "é"} {
			dir := filepath.Join(r.dir, name)
			check(r, os.Mkdir(dir, 0o755))
			r.profile.Workspace = dir
			s, err := r.backend().Open(r.Context(), r.profile)
			if r.engine == docker.Podman && strings.ContainsAny(name, ",\"\n") {
				if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "rename") {
					r.Errorf("%q: %v", name, err)
				}
				continue
			}
			check(r, err)
			out, result := r.run(s, "sh", "-c", "echo x >made; pwd")
			check(r, s.Close())
			text, err := os.ReadFile(dir + "/made")
			if result.ExitCode != 0 || out != dir+"\n" || err != nil || string(text) != "x\n" {
				r.Errorf("%q: %d %q, %q %v", name, result.ExitCode, out, text, err)
			}
		}
		r.profile.Workspace = filepath.Join(r.dir, "a\xff")
		check(r, os.Mkdir(r.profile.Workspace, 0o755))
		s, err := r.backend().Open(r.Context(), r.profile)
		if err == nil {
			_, err = s.Run(r.Context(), sandbox.Command{Argv: []string{"touch", "made"}, Timeout: longest})
			check(r, s.Close())
		}
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "UTF-8") {
			r.Errorf("a name that is no text: %v", err)
		}
		r.leavesNothing()
	})
}

// Files that a command makes belong to the user it ran as.
func TestIdentity(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run a command as somebody else")
	}
	eachEngine(t, func(r *room) {
		for _, d := range []string{r.workspace, r.dir + "/tmp", r.dir + "/cache"} {
			check(r, os.Chown(d, 65533, 65532))
		}
		r.profile.Identity = &sandbox.Identity{UID: 65533, GID: 65532, Why: "a test"}
		out, result := r.run(r.open(), "sh", "-c", "id -u; id -g; touch made $HOME/x $TMPDIR/x && echo ok")
		var st syscall.Stat_t
		check(r, syscall.Stat(r.workspace+"/made", &st))
		if out != "65533\n65532\nok\n" || st.Uid != 65533 || st.Gid != 65532 {
			r.Errorf("%q, %+v, owner %d:%d", out, result, st.Uid, st.Gid)
		}
	})
}

// TestAsOrdinaryUser repeats the tests as a user who may use the engine's socket
// and nothing else.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	need(t, docker.Docker)
	var st syscall.Stat_t
	check(t, syscall.Stat(strings.TrimPrefix(os.Getenv(hostVar), "unix://"), &st))
	dir, err := os.MkdirTemp("/var/lib", "sbx-docker-user-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	check(t, os.Chmod(dir, 0o755))
	check(t, os.Mkdir(dir+"/rooms", 0o755))
	check(t, os.Chown(dir+"/rooms", 65533, 65533))
	self, err := os.Executable()
	check(t, err)
	text, err := os.ReadFile(self)
	check(t, err)
	check(t, os.WriteFile(dir+"/docker.test", text, 0o755))
	args := []string{"-test.v", "-test.skip=Conformance"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	c := exec.Command(dir+"/docker.test", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), baseVar+"="+dir+"/rooms", "HOME="+dir, "TMPDIR="+dir+"/rooms")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533, Groups: []uint32{st.Gid}}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
