//go:build unix

package sbx

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// auditLines reads an audit file and checks that every line is a whole one.
func auditLines(t *testing.T, path string) []Result {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	var list []Result
	for line := range bytes.Lines(text) {
		var r Result
		if err := json.Unmarshal(line, &r); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			t.Fatalf("line %d: %v: %.200q", len(list)+1, err, line)
		}
		list = append(list, r)
	}
	return list
}

func TestEngineAudits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	e, b := fakeEngine(t, Options{Audit: path, Environ: []string{"API_KEY=canary"}})
	ws := t.TempDir()
	ran, err := e.Run(context.Background(), Request{Text: "PIN=canary; curl -u canary x | sh", Workspace: ws})
	must(t, err)
	_, err = e.Run(context.Background(), Request{Text: "rm -rf / canary", Workspace: ws})
	var denied *DeniedError
	if !errors.As(err, &denied) {
		t.Fatal(err)
	}
	b.fail = errors.Join(sandbox.ErrStart, errors.New("canary"))
	_, err = e.Run(context.Background(), Request{Text: "ls", Workspace: t.TempDir()})
	if !errors.Is(err, sandbox.ErrStart) {
		t.Fatal(err)
	}
	list := auditLines(t, path)
	if len(list) != 3 || list[0].ID != ran.ID || list[0].ID == list[1].ID || strings.Join(list[0].Programs, " ") != "curl sh" {
		t.Fatalf("%+v", list)
	}
	if list[0].Ending != sandbox.Exited || list[0].Started.IsZero() || strings.Join(list[0].Removed, " ") != "API_KEY" {
		t.Errorf("%+v", list[0])
	}
	if list[1].Ending != sandbox.Refused || len(list[1].Violations) != 1 || list[1].Violations[0].Rule != "delete-system" || list[1].Error != "refused by guard: delete-system" {
		t.Errorf("%+v", list[1])
	}
	if list[2].Ending != sandbox.NotStarted || list[2].Error != sandbox.ErrStart.Error() {
		t.Errorf("%+v", list[2])
	}
	if text, _ := os.ReadFile(path); bytes.Contains(text, []byte("canary")) {
		t.Errorf("a word of a command is in %s", text)
	}
	if p := b.opened[0]; len(p.Hide) != 1 || p.Hide[0] != realPath(path) {
		t.Errorf("hidden from the command: %q", p.Hide)
	}
	if _, err := e.Plan(context.Background(), Request{Text: "ls", Workspace: ws}); err != nil || len(auditLines(t, path)) != 3 {
		t.Errorf("a plan stands in the audit file, %v", err)
	}
}

func TestAuditRefusesWhatIsNoPlace(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		must(t, os.WriteFile(name, nil, mode))
		must(t, os.Chmod(name, mode))
		return name
	}
	linked := file("linked", 0o600)
	must(t, os.Link(linked, linked+"2"))
	must(t, os.Symlink(linked, dir+"/symlink"))
	must(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	for name, want := range map[string]string{
		"relative": "absolute", dir: "directory", dir + "/gone/x": "no such file", "/dev/shm/x": "lies in /dev", "/proc/self/x": "lies in /proc",
		file("open", 0o644): "chmod 600", linked: "second name", dir + "/symlink": "symbolic link", dir + "/pipe": "regular",
	} {
		e, b := fakeEngine(t, Options{Audit: name})
		r, err := e.Run(context.Background(), Request{Text: "ls", Workspace: t.TempDir()})
		var refused *AuditError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || r.Ending != sandbox.NotStarted || r.ExitCode != 125 || len(b.ran) > 0 {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
	ws := t.TempDir()
	e, b := fakeEngine(t, Options{Audit: filepath.Join(ws, "audit")})
	_, err := e.Run(context.Background(), Request{Text: "ls", Workspace: ws})
	var workspace *WorkspaceError
	if !errors.As(err, &workspace) || len(b.ran) > 0 {
		t.Errorf("in the workspace: %v", err)
	}
}

// A full disk is seen after the run only: it has happened, and the Result says
// that it is not recorded.
func TestAuditThatFailsAfterTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	e, b := fakeEngine(t, Options{Audit: path})
	must(t, Audit(path, NotStarted(Options{}, sandbox.ErrStart)))
	held, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer held.Close()
	if !lockWriting(held) {
		t.Fatal("the lock is taken")
	}
	r, err := e.Run(context.Background(), Request{Text: "ls", Workspace: t.TempDir()})
	if err != nil || r.ExitCode != 7 || len(b.ran) != 1 || !strings.Contains(r.AuditError, "this run is not recorded") {
		t.Errorf("%+v, %v", r, err)
	}
	unlock(held)
	// What a crash cut off stays, and swallows no line.
	must(t, os.WriteFile(path, []byte(`{"ending":"ex`), 0o600))
	must(t, Audit(path, r))
	text, err := os.ReadFile(path)
	must(t, err)
	if lines := strings.Split(string(text), "\n"); len(lines) != 3 || lines[0] != `{"ending":"ex` || !json.Valid([]byte(lines[1])) || lines[2] != "" {
		t.Errorf("%q", text)
	}
}

// A line that does not fit is taken back as a whole.
func TestAuditOnAFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	must(t, Audit(path, NotStarted(Options{}, sandbox.ErrStart)))
	before, err := os.ReadFile(path)
	must(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestAuditWriter$")
	cmd.Env = append(os.Environ(), "SBX_AUDIT_WRITER="+path, "SBX_AUDIT_LIMIT="+strconv.Itoa(len(before)+100))
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("not recorded")) {
		t.Errorf("control: the writer got through: %v %s", err, out)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Errorf("%q", after)
	}
}

// TestAuditWriter is the process that other tests start.
func TestAuditWriter(t *testing.T) {
	path := os.Getenv("SBX_AUDIT_WRITER")
	if path == "" {
		return // other tests start it
	}
	if limit, err := strconv.ParseUint(os.Getenv("SBX_AUDIT_LIMIT"), 10, 64); err == nil {
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}))
		must(t, Audit(path, NotStarted(Options{}, sandbox.ErrStart)))
		return
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			r := NotStarted(Options{}, sandbox.ErrStart)
			// Longer than a pipe or a page holds.
			r.Followed = []string{os.Getenv("SBX_AUDIT_NAME"), strconv.Itoa(i), strings.Repeat("x", 1<<(10+2*i))}
			if err := Audit(path, r); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestManyAuditAtOnce(t *testing.T) {
	const writers = 64
	path := filepath.Join(t.TempDir(), "audit")
	began := time.Now()
	var list []*exec.Cmd
	for i := range writers {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAuditWriter$")
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "SBX_AUDIT_WRITER="+path, "SBX_AUDIT_NAME="+strconv.Itoa(i))
		cmd.Stdout = new(bytes.Buffer)
		must(t, cmd.Start())
		list = append(list, cmd)
	}
	for _, cmd := range list {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stdout)
		}
	}
	seen := map[string]int{}
	for _, r := range auditLines(t, path) {
		seen[r.Followed[0]]++
	}
	if len(seen) != writers {
		t.Errorf("lines of %d writers", len(seen))
	}
	for name, n := range seen {
		if n != 4 {
			t.Errorf("writer %s has %d lines", name, n)
		}
	}
	t.Logf("%d lines in %v", 4*writers, time.Since(began))
}
