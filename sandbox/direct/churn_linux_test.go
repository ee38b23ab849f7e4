//go:build amd64 || arm64

package direct_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// Programs write credential files by renaming a new one over the old one. A run
// that starts at that moment must neither fail nor leave the new one open.
func TestFullHidesWhatIsBeingReplaced(t *testing.T) {
	r := newRoom(t, full)
	const secret = "key-of-the-churn"
	token, next := r.home+"/.npmrc", r.home+"/.npmrc.next"
	write := func() {
		check(t, os.WriteFile(next, []byte(secret), 0o644))
		check(t, os.Rename(next, token))
	}
	write()
	stop := make(chan struct{})
	var churn sync.WaitGroup
	halt := sync.OnceFunc(func() { close(stop); churn.Wait() })
	defer halt()
	churn.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				write()
			}
		}
	})

	// The command does not look: a file that is replaced while it runs is open
	// to it (SECURITY.md). It starts, and what it was started on is covered.
	s := r.confined()
	for i := range 50 {
		result, err := s.Run(context.Background(), sandbox.Command{Argv: []string{"true"}, Env: r.env()})
		if err != nil || result.ExitCode != 0 {
			t.Fatalf("run %d: %+v: %v", i, result, err)
		}
	}
	halt()
	if out, _ := r.run(r.unconfined(), "cat", token); !strings.Contains(out, secret) {
		t.Errorf("control: %q", out)
	}
	if out, _ := r.run(s, "cat", token); strings.Contains(out, secret) {
		t.Errorf("the last of them was read: %q", out)
	}
}
