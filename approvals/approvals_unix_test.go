//go:build unix

package approvals

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx/permit"
)

// storeVar makes this test binary one of several processes that decide.
const storeVar = "SBX_TEST_APPROVALS"

func TestMain(m *testing.M) {
	if path := os.Getenv(storeVar); path != "" {
		s := &Store{Path: path}
		var settled *SettledError
		switch _, err := s.Approve(os.Args[1], "process"); {
		case err == nil:
			fmt.Println("approved")
		case errors.As(err, &settled):
			fmt.Println("settled")
		default:
			fmt.Println(err)
		}
		return
	}
	os.Exit(m.Run())
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newStore(t *testing.T) (*Store, *clock) {
	t.Helper()
	c := &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	return &Store{Path: filepath.Join(t.TempDir(), "state", "approvals.db"), Now: c.now}, c
}

func waiting(command string) permit.Waiting {
	return permit.Waiting{
		Call: permit.Call{Tool: "bash", Args: map[string]any{"command": command}}, Caller: permit.Caller{Agent: "a"},
		Why: "nobody is there", Risks: []string{"deletes"}, Grants: []string{"bash:deletes"},
	}
}

func park(t *testing.T, s *Store, command string) string {
	t.Helper()
	id, err := s.Park(waiting(command), []byte(`{"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestOneDecision(t *testing.T) {
	s, _ := newStore(t)
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	if _, err := os.Stat(s.Path); err == nil {
		t.Error("looking made a file")
	}
	command := "rm x\x00\xff\u202e"
	id := park(t, s, command)
	if again := park(t, s, command); again != id {
		t.Error("the same call has two numbers")
	}
	other := park(t, s, "rm y")
	if info, err := os.Stat(s.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	r, err := s.Approve(id, "ann")
	if err != nil || string(r.Subject) != command || string(r.Origin) != `{"x":1}` || r.By != "ann" || !slices.Equal(r.Grants, []string{"bash:deletes"}) {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, try := range []func() error{
		func() error { _, err := s.Approve(id, "bob"); return err },
		func() error { _, err := s.Deny(id, "bob", "no"); return err },
	} {
		var settled *SettledError
		if err := try(); !errors.As(err, &settled) || settled.State != Approved {
			t.Error(err)
		}
	}
	if got, err := s.Get(id); err != nil || got.State != Approved || got.By != "ann" || got.Subject != nil || got.Origin != nil || got.Exit != nil {
		t.Errorf("its words are kept, or its decision is not: %+v, %v", got, err)
	}
	if err := s.Ended(id, "run-1", 7); err != nil {
		t.Error(err)
	}
	if got, err := s.Get(id); err != nil || got.Run != "run-1" || *got.Exit != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if r, err := s.Deny(other, "ann", "too broad"); err != nil || r.State != Denied {
		t.Error(r, err)
	}
	if got, err := s.Get(other); err != nil || got.State != Denied || got.Reason != "too broad" {
		t.Errorf("%+v, %v", got, err)
	}
	var unknown *UnknownError
	if _, err := s.Approve("ffffffff", "ann"); !errors.As(err, &unknown) {
		t.Error(err)
	}
	if list, err := s.List(); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
}

func TestClocks(t *testing.T) {
	for _, c := range []struct {
		name    string
		jump    time.Duration
		expired bool
	}{
		{"at once", 0, false},
		{"in time", Life - time.Second, false},
		{"at the end", Life, true},
		{"set forward", 400 * 24 * time.Hour, true},
		{"set back a little", -30 * time.Second, false},
		{"set back", -time.Hour, true},
	} {
		s, clock := newStore(t)
		id := park(t, s, "rm x")
		clock.move(c.jump)
		_, err := s.Approve(id, "ann")
		var settled *SettledError
		if c.expired != (errors.As(err, &settled) && settled.State == Expired) || !c.expired && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.expired {
			continue
		}
		// What has expired stays so, when the clock is right again.
		clock.move(-c.jump)
		if _, err := s.Deny(id, "ann", ""); !errors.As(err, &settled) || settled.State != Expired {
			t.Errorf("%s, then back: %v", c.name, err)
		}
		if got, err := s.Get(id); err != nil || got.Subject != nil {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestPruning(t *testing.T) {
	s, clock := newStore(t)
	first := park(t, s, "rm 1")
	clock.move(time.Hour)
	park(t, s, "rm 2")
	if got, err := s.Get(first); err != nil || got.State != Expired || got.Subject != nil {
		t.Errorf("%+v, %v", got, err)
	}
	clock.move(Kept + time.Hour)
	park(t, s, "rm 3")
	if list, err := s.List(); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestBounds(t *testing.T) {
	s, _ := newStore(t)
	if _, err := s.Park(waiting(strings.Repeat("x", MaxBytes+1)), nil); err == nil || !strings.Contains(err.Error(), "8 MiB") {
		t.Error(err)
	}
	big := "echo " + strings.Repeat("x", 1<<20)
	id := park(t, s, big)
	if r, err := s.Approve(id, "ann"); err != nil || string(r.Subject) != big {
		t.Error(len(r.Subject), err)
	}
	for i := range MaxWaiting {
		park(t, s, fmt.Sprint("rm ", i))
	}
	if _, err := s.Park(waiting("rm more"), nil); err == nil || !strings.Contains(err.Error(), "200 calls are waiting") {
		t.Error(err)
	}
	if park(t, s, "rm 0") == "" {
		t.Error("one that waits already is refused")
	}
}

// Of many who approve at once, in one process and in several, one gets it.
func TestApproveAtOnce(t *testing.T) {
	s, _ := newStore(t)
	s.Now = nil
	id := park(t, s, "rm x")
	var won, lost int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := s.Approve(id, "ann")
			var settled *SettledError
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.As(err, &settled):
				lost++
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won != 1 || lost != 7 {
		t.Errorf("%d won, %d lost", won, lost)
	}
	id = park(t, s, "rm y")
	outs := make([]bytes.Buffer, 4)
	for i := range outs {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], id)
			cmd.Env = []string{storeVar + "=" + s.Path}
			cmd.Stdout = &outs[i]
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	words := map[string]int{}
	for i := range outs {
		words[strings.TrimSpace(outs[i].String())]++
	}
	if words["approved"] != 1 || words["settled"] != len(outs)-1 {
		t.Error(words)
	}
}

// A store that cannot be used is an error, whatever is wrong with it.
func TestBrokenStore(t *testing.T) {
	whole, _ := newStore(t)
	park(t, whole, "rm x")
	text, err := os.ReadFile(whole.Path)
	if err != nil {
		t.Fatal(err)
	}
	garbled := bytes.Clone(text)
	for i := range garbled[8192:] {
		garbled[8192+i] = 0xa5
	}
	for name, text := range map[string][]byte{
		"no data base":   []byte("not a data base, but a text that is longer than nothing at all"),
		"cut off":        text[:5000],
		"cut in a page":  text[:9000],
		"garbled pages":  garbled,
		"garbled header": append(bytes.Repeat([]byte{0xff}, 8192), text[8192:]...),
	} {
		s := &Store{Path: filepath.Join(t.TempDir(), "approvals.db")}
		if err := os.WriteFile(s.Path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var broken *StoreError
		if _, err := s.Park(waiting("rm y"), nil); !errors.As(err, &broken) {
			t.Errorf("%s: park: %v", name, err)
		}
		if list, err := s.List(); err == nil && len(list) > 0 {
			t.Errorf("%s: list: %v", name, list)
		}
		if _, err := s.Approve("00000000", "ann"); err == nil {
			t.Errorf("%s: approve", name)
		}
	}
	dir := t.TempDir()
	for name, make := range map[string]func(string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink(whole.Path, path) },
		"open to all": func(path string) error { return os.WriteFile(path, nil, 0o666) },
	} {
		s := &Store{Path: filepath.Join(dir, name)}
		if err := make(s.Path); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(s.Path, 0o644)
		var broken *StoreError
		if _, err := s.Park(waiting("rm y"), nil); !errors.As(err, &broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLot(t *testing.T) {
	s, _ := newStore(t)
	id, err := Lot{Store: s}.Park(t.Context(), waiting("rm x"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(id); err != nil || r.Origin != nil || string(r.Subject) != "rm x" {
		t.Errorf("%+v, %v", r, err)
	}
}
