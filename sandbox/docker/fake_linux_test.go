package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// fakeEngine fails as a real one cannot be made to.
type fakeEngine struct {
	api    string            // the version that it speaks
	answer map[string]string // body by the end of the path, "500 WORDS" for an error, "hang" for none; missing: 204

	mu    sync.Mutex
	asked []string // method and path
}

func (f *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.Method+" "+r.URL.Path)
	f.mu.Unlock()
	w.Header().Set("API-Version", f.api)
	w.Header().Set("Content-Type", "application/json")
	for end, body := range f.answer {
		if !strings.HasSuffix(r.URL.Path, end) || r.Method == http.MethodDelete {
			continue
		}
		if body == "hang" {
			<-r.Context().Done()
			return
		}
		if words, ok := strings.CutPrefix(body, "500 "); ok {
			w.WriteHeader(http.StatusInternalServerError)
			body = fmt.Sprintf(`{"message": %q}`, words)
		}
		if words, ok := strings.CutPrefix(body, "404 "); ok {
			w.WriteHeader(http.StatusNotFound)
			body = fmt.Sprintf(`{"message": %q}`, words)
		}
		if part, ok := strings.CutSuffix(body, "…"); ok { // more was promised than comes
			w.Header().Set("Content-Length", "1000")
			body = part
		}
		_, _ = w.Write([]byte(body))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// serve listens on a socket and returns a profile that names it.
func (f *fakeEngine) serve(t *testing.T) sandbox.Profile {
	dir := t.TempDir()
	l, err := net.Listen("unix", dir+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: f}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return sandbox.Profile{Workspace: dir, Container: sandbox.Container{Host: "unix://" + dir + "/socket", Image: "x:1"}}
}

func (f *fakeEngine) heard(request string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asked {
		if strings.HasPrefix(a, request) {
			return true
		}
	}
	return false
}

// Errors in the middle, answers that break off, a container whose first process
// never connects, and engines of other times. The engine is a fake one.
func TestFakeEngine(t *testing.T) {
	init := filepath.Join(t.TempDir(), "sbx-init")
	if err := os.WriteFile(init, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const made = `{"Id": "box"}`
	for _, c := range []struct {
		name    string
		api     string
		answer  map[string]string
		want    string
		heard   string
		removed bool
	}{
		{name: "ping fails", api: "1.41", answer: map[string]string{"/_ping": "500 no"}, want: "does not answer"},
		{name: "too old", api: "1.39", want: "is too old: API version 1.39", heard: "HEAD /_ping"},
		{name: "create fails", api: "1.41", answer: map[string]string{"/containers/create": "500 it is ill"}, want: "create container: it is ill", heard: "POST /v1.41/containers/create"},
		{name: "create breaks off", api: "1.41", answer: map[string]string{"/containers/create": `{"Id": "bo…`}, want: "create container: unexpected EOF", heard: "POST /v1.41/"},
		{
			name: "start fails", api: "1.43", answer: map[string]string{"/containers/create": made, "/start": "500 it is ill"},
			want: "start container: it is ill", heard: "POST /v1.43/containers/box/start", removed: true,
		},
		{
			name: "full when started", api: "1.41", answer: map[string]string{"/containers/create": made, "/start": "500 mkdir: no space left on device"},
			want: "the engine's disk is full", removed: true,
		},
		{name: "never connects", api: "1.41", answer: map[string]string{"/containers/create": made, "/wait": "hang"}, want: "context canceled", removed: true},
		{
			name: "pull breaks off", api: "1.41", answer: map[string]string{"/containers/create": "404 no such image", "/images/create": `{"status": "Pull…`},
			want: "the image x:1 is not here (unexpected EOF): fetch it with `docker pull x:1`", heard: "POST /v1.41/images/create",
		},
		{
			name: "pull fails", api: "1.41", answer: map[string]string{"/containers/create": "404 no such image", "/images/create": `{"errorDetail": {"message": "write /x: no space left on device"}}`},
			want: "pull x:1: the engine's disk is full",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fakeEngine{api: c.api, answer: c.answer}
			p := f.serve(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.answer["/wait"] == "hang" {
				go func() {
					for ctx.Err() == nil && !f.heard("POST /v"+c.api+"/containers/box/start") {
						time.Sleep(10 * time.Millisecond)
					}
					cancel()
				}()
			}
			s, err := New(Docker, Options{Init: init}).Open(ctx, p)
			if err == nil {
				var result sandbox.Result
				result, err = s.Run(ctx, sandbox.Command{Argv: []string{"true"}})
				if result.Ending != sandbox.NotStarted || result.ExitCode != 125 {
					t.Errorf("%+v", result)
				}
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, and not %q", err, c.want)
			}
			if !errors.Is(err, sandbox.ErrStart) && !errors.Is(err, sandbox.ErrUnavailable) {
				t.Errorf("%v may have run", err)
			}
			if !f.heard(c.heard) || f.heard("DELETE /v"+c.api+"/containers/box") != c.removed {
				t.Errorf("asked for %q", f.asked)
			}
		})
	}
}
