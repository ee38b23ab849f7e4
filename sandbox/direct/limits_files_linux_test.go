package direct_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// A full disk: what is written in total, in the workspace, is bounded.
func TestDisk(t *testing.T) { eachHold(t, testDisk) }

func testDisk(r *room, groups bool) {
	t := r.T
	const limit = 16 << 20
	for name, text := range map[string]string{
		"one file":          "dd if=/dev/zero of=big bs=1048576 count=20000",
		"many files":        "i=0; while :; do i=$((i+1)); dd if=/dev/zero of=f$i bs=65536 count=16; done",
		"over and over":     "while :; do dd if=/dev/zero of=f bs=65536 count=16; rm f; done",
		"in the background": "dd if=/dev/zero of=big bs=1048576 count=20000 & sleep 60",
	} {
		r.reset()
		_, got := r.limited(groups, sandbox.Limits{DiskBytes: limit}, "sh", "-c", text+" 2>&1")
		if got.Ending != sandbox.OverDisk || got.Limit != sandbox.OverDisk || got.ExitCode != 137 {
			t.Errorf("%s: ended by %s, %s, %d", name, got.Ending, got.Limit, got.ExitCode)
		}
		var used int64
		check(t, filepath.Walk(r.workspace, func(_ string, info os.FileInfo, err error) error {
			if err == nil {
				used += info.Size()
			}
			return nil
		}))
		if used > 1<<30 {
			t.Errorf("%s: %d MiB were written", name, used>>20)
		}
		if !gapNamed(got.Gaps, sandbox.LimitsExact) {
			t.Errorf("%s: what is measured is called exact", name)
		}
	}
	r.reset()
	_, got := r.limited(groups, sandbox.Limits{DiskBytes: limit}, "dd", "if=/dev/zero", "of=big", "bs=1048576", "count=4")
	if got.Ending != sandbox.Exited || got.ExitCode != 0 {
		t.Errorf("a quarter of the limit: %+v", got)
	}
}

// A temp directory of a size is full when it is, and nothing of it is left.
func TestTempSize(t *testing.T) { eachTier(t, testTempSize) }

func testTempSize(r *room) {
	t := r.T
	temp := r.dir + "/temp"
	check(t, os.Mkdir(temp, 0o777))
	r.profile.Private.Temp = temp
	r.profile.Limits = sandbox.Limits{TempBytes: 4 << 20}
	if !r.isFull() {
		var gap *sandbox.GapError
		if _, err := r.backendOpen(); !errors.As(err, &gap) || gap.Gaps[0].Control != sandbox.LimitTemp {
			t.Fatalf("refused: %v", err)
		}
		r.profile.Accept = []sandbox.Control{sandbox.LimitTemp}
		if _, got := r.run(r.confined(), "true"); got.ExitCode != 0 || slices.Contains(got.Enforced, sandbox.LimitTemp) {
			t.Errorf("accepted: %+v", got)
		}
		return
	}
	s := r.confined()
	for _, dir := range []string{temp, "/tmp", "/dev/shm", "/var/tmp"} {
		out, got := r.run(s, "sh", "-c", "dd if=/dev/zero of="+dir+"/x bs=65536 count=200 2>&1; wc -c <"+dir+"/x")
		if !strings.Contains(out, "No space left") || !strings.HasSuffix(out, "\n4194304\n") || got.Limit != sandbox.OverTemp || got.Ending != sandbox.Exited {
			t.Errorf("%s: %q %+v", dir, out, got)
		}
	}
	out, got := r.run(s, "sh", "-c", "cd "+temp+" && echo x >y && mkdir d && mv y d/z && cat d/z")
	if out != "x\n" || got.Limit != "" {
		t.Errorf("work in the temp directory: %q, %+v", out, got)
	}
	// Empty files take memory, too.
	out, _ = r.run(s, "sh", "-c", "cd "+temp+"; i=0; while [ $i -lt 5000 ]; do true >$i || break; i=$((i+1)); done 2>/dev/null; test $i -lt 5000 && echo bounded")
	if out != "bounded\n" {
		t.Errorf("5000 empty files in 4 MiB: %q", out)
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("left in the temp directory: %v", left)
	}
}

func TestFileSize(t *testing.T) { eachTier(t, testFileSize) }

func testFileSize(r *room) {
	t := r.T
	r.profile.Limits = sandbox.Limits{FileBytes: 64 << 10}
	if r.tier == thread { // it cannot be set before the command runs
		var gap *sandbox.GapError
		if _, err := r.backendOpen(); !errors.As(err, &gap) || gap.Gaps[0].Control != sandbox.LimitFileSize {
			t.Errorf("refused: %v", err)
		}
		return
	}
	s := r.confined()
	_, got := r.run(s, "dd", "if=/dev/zero", "of=big", "bs=1024", "count=100")
	info, err := os.Stat(r.workspace + "/big")
	if err != nil || info.Size() != 64<<10 || got.Ending != sandbox.OverFileSize || got.ExitCode != 153 {
		t.Errorf("%+v, %v, %v", got, info, err)
	}
	if _, got = r.run(s, "sh", "-c", "dd if=/dev/zero of=big bs=1024 count=100; exit $?"); got.Ending != sandbox.OverFileSize {
		t.Errorf("below a shell: %+v", got)
	}
	if _, got = r.run(s, "dd", "if=/dev/zero", "of=big", "bs=1024", "count=64"); got.Ending != sandbox.Exited {
		t.Errorf("up to the limit: %+v", got)
	}
	if _, got = r.run(r.unconfinedNow(), "dd", "if=/dev/zero", "of=big", "bs=1024", "count=100"); got.Ending != sandbox.Exited {
		t.Errorf("the control: %+v", got)
	}
}

// unconfinedNow is unconfined without limits.
func (r *room) unconfinedNow() sandbox.Session {
	l := r.profile.Limits
	r.profile.Limits = sandbox.Limits{}
	defer func() { r.profile.Limits = l }()
	return r.unconfined()
}

// Output without end is cut off or ends the command, on either stream, and is
// never kept.
func TestOutput(t *testing.T) { eachTier(t, testOutput) }

func testOutput(r *room) {
	t := r.T
	const limit = 100_000
	for _, kill := range []bool{false, true} {
		r.profile.Limits = sandbox.Limits{OutputBytes: limit, OutputKill: kill}
		s := r.confined()
		for _, text := range []string{"yes", "yes >&2", "yes & yes >&2"} {
			var out, diag counter
			got, err := s.Run(context.Background(), sandbox.Command{
				Argv: []string{"sh", "-c", text}, Env: r.env(), Stdout: &out, Stderr: &diag, Timeout: time.Second, Grace: time.Millisecond,
			})
			check(t, err)
			want := sandbox.TimedOut
			if kill {
				want = sandbox.OverOutput
			}
			if got.Ending != want || out.n > limit || diag.n > limit || max(out.n, diag.n) != limit || got.BytesCut == 0 {
				t.Errorf("kill %v, %s: ended by %s, %d and %d bytes, %d cut", kill, text, got.Ending, out.n, diag.n, got.BytesCut)
			}
		}
		var out counter
		got, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"head", "-c", strconv.Itoa(limit), "/dev/zero"}, Env: r.env(), Stdout: &out, Stderr: &out})
		if err != nil || got.Limit != "" || got.Ending != sandbox.Exited || out.n != limit || got.BytesCut != 0 {
			t.Errorf("kill %v: just the limit: %+v, %v", kill, got, err)
		}
		got, err = s.Run(context.Background(), sandbox.Command{Argv: []string{"head", "-c", strconv.Itoa(limit + 7), "/dev/zero"}, Env: r.env(), Stdout: &out})
		if err != nil || got.Limit != sandbox.OverOutput || got.BytesCut != 7 || (got.Ending == sandbox.OverOutput) != kill {
			t.Errorf("kill %v: a little more: %+v, %v", kill, got, err)
		}
	}
	// Through files, too, and a reader that goes away is the command's business.
	r.profile.Limits = sandbox.Limits{OutputBytes: limit}
	read, write, err := os.Pipe()
	check(t, err)
	_ = read.Close()
	got, err := r.confined().Run(context.Background(), sandbox.Command{Argv: []string{"yes"}, Env: r.env(), Stdout: write})
	if err != nil || got.Signal != int(unix.SIGPIPE) {
		t.Errorf("nobody reads: %+v, %v", got, err)
	}
	_ = write.Close()
}

// counter counts and keeps nothing.
type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) { c.n += len(b); return len(b), nil }

var _ io.Writer = (*counter)(nil)
