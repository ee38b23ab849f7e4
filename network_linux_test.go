package sbx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
)

// proxyProgram builds sbx-proxy where only we can write.
func proxyProgram(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sbx-proxy")
	if out, err := exec.Command("go", "build", "-o", file, "./cmd/sbx-proxy").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

func workspaceFor(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "sbx-network-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// The library has the list too: no process of the embedder is touched, and many
// runs at once each have their own proxy and record.
func TestNetworkRulesInTheLibrary(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	}()
	e, err := sbx.New(sbx.Options{
		Workspace: workspaceFor(t), Proxy: proxyProgram(t), Network: sandbox.NetworkRules, NetworkRules: []string{l.Addr().String()},
		Environ: append(os.Environ(), "https_proxy=", "http_proxy=", "HTTP_PROXY=", "HTTPS_PROXY="),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	plan, err := e.Plan(context.Background(), sbx.Request{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Tier == "landlock" {
		t.Skip("no tier with namespaces here")
	}
	if plan.Network != "allow:"+l.Addr().String() || !strings.Contains(strings.Join(plan.Steps, "\n"), "send the listener to the proxy") {
		t.Errorf("plan: %s %q", plan.Network, plan.Steps)
	}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			var out bytes.Buffer
			host := fmt.Sprintf("h%d.test", i)
			text := fmt.Sprintf(`curl -sS --noproxy "" http://%s/; curl -sS http://%s/ >/dev/null`, l.Addr(), host)
			r, err := e.Run(context.Background(), sbx.Request{Text: text, Stdout: &out})
			if err != nil || out.String() != "hello" || r.NetworkError != "" {
				t.Errorf("%v %q %+v", err, out.String(), r)
				return
			}
			if len(r.Denials) != 1 || r.Denials[0].Host != host || len(r.Hosts) != 1 || r.Hosts[0].Connections != 1 || r.Hosts[0].BytesIn == 0 {
				t.Errorf("run %d: %+v %+v", i, r.Denials, r.Hosts)
			}
		})
	}
	all.Wait()
	// The end of the context ends the run and its proxy.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if r, err := e.Run(ctx, sbx.Request{Argv: []string{"sleep", "60"}}); err != nil || r.Ending != sandbox.Abandoned || r.NetworkError != "" {
		t.Errorf("%v %+v", err, r)
	}
	if pids, err := exec.Command("pgrep", "-P", fmt.Sprint(os.Getpid()), "-x", "sbx-proxy").Output(); err == nil {
		t.Errorf("left: %s", pids)
	}
}

func TestHelperIsNotTakenFromAnywhere(t *testing.T) {
	ws := workspaceFor(t)
	place := func(dir string, dirMode, mode os.FileMode) string {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "sbx-proxy")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(file, mode), os.Chmod(dir, dirMode)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(ws, "bin/sbx-proxy"), link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"missing":              {"", "there is no sbx-proxy at "},
		"relative":             {"bin/sbx-proxy", "its path must be absolute"},
		"not there":            {"/nowhere/sbx-proxy", "no such file or directory"},
		"in the workspace":     {place(filepath.Join(ws, "bin"), 0o755, 0o755), "which the command may write to"},
		"link to there":        {link, "which the command may write to"},
		"others write":         {place(filepath.Join(t.TempDir(), "a"), 0o755, 0o757), "can be changed by others"},
		"others write beside":  {place(filepath.Join(t.TempDir(), "b"), 0o777, 0o755), "can be changed by others"},
		"a group writes":       {place(filepath.Join(t.TempDir(), "e"), 0o755, 0o775), "can be changed by others"},
		"not executable":       {place(filepath.Join(t.TempDir(), "c"), 0o755, 0o644), "no executable file"},
		"a directory":          {t.TempDir(), "no executable file"},
		"what is no sbx-proxy": {place(filepath.Join(t.TempDir(), "d"), 0o755, 0o755), "wait for sbx-proxy"},
	} {
		e, err := sbx.New(sbx.Options{Workspace: ws, Proxy: c.path, Network: sandbox.NetworkRules})
		if err != nil {
			t.Fatal(err)
		}
		ran := filepath.Join(ws, "ran")
		r, err := e.Run(context.Background(), sbx.Request{Argv: []string{"touch", ran}})
		if err == nil || !strings.Contains(err.Error(), c.want) || r.Ending != sandbox.NotStarted || r.ExitCode != 125 {
			t.Errorf("%s: %v, %s %d", name, err, r.Ending, r.ExitCode)
		}
		if _, err := os.Lstat(ran); err == nil {
			t.Errorf("%s: the command ran", name)
		}
		e.Close()
	}
}

// sbx's own directories of the workspace can be written by commands too.
func TestHelperInPrivateDirectories(t *testing.T) {
	ws := workspaceFor(t)
	e, err := sbx.New(sbx.Options{Workspace: ws})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	plan, err := e.Plan(context.Background(), sbx.Request{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, dir := range plan.Write {
		if dir == ws {
			continue
		}
		tried++
		file := filepath.Join(dir, "sbx-proxy")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(file) })
		e, err := sbx.New(sbx.Options{Workspace: ws, Proxy: file, Network: sandbox.NetworkRules})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Run(context.Background(), sbx.Request{Argv: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "which the command may write to") {
			t.Errorf("%s: %v", dir, err)
		}
		e.Close()
	}
	if tried == 0 {
		t.Error("no private directory")
	}
}

func TestNetworkOptions(t *testing.T) {
	for want, o := range map[string]sbx.Options{
		"it is a URL":               {Network: sandbox.NetworkRules, NetworkRules: []string{"https://a.test"}},
		"want sandbox.NetworkRules": {NetworkRules: []string{"a.test"}},
		"there is no such setting":  {Network: 7},
		`only "network" decides`:    {NetworkAuto: true, AllowTags: []string{"deletes"}},
	} {
		if e, err := sbx.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v; want %q", e, err, want)
		}
	}
}
