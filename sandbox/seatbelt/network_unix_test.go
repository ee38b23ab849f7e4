//go:build unix

package seatbelt

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sbx-run/sbx/netproxy"
	"github.com/sbx-run/sbx/sandbox"
)

// The test binary is sbx-proxy, and a client that goes by its environment.
func TestMain(m *testing.M) {
	switch {
	case os.Args[0] == "sbx-proxy":
		os.Exit(netproxy.Main(os.Args, os.Stdout, os.Stderr))
	case len(os.Args) == 3 && os.Args[1] == "-get":
		os.Exit(get(os.Args[2]))
	}
	os.Exit(m.Run())
}

// get goes by HTTP_PROXY also to the loopback, which the library would not.
func get(address string) int {
	at, err := url.Parse(os.Getenv("HTTP_PROXY"))
	if err != nil {
		return 2
	}
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{Proxy: http.ProxyURL(at)}}
	response, err := client.Get(address)
	if err != nil {
		return 3
	}
	_, _ = os.Stdout.WriteString(at.Host + " " + response.Status)
	return 0
}

// Each run with rules has a proxy of its own, at a port that the profile names and
// nothing beside it; it holds the rules, and ends with the run.
func TestRules(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer server.Close()
	at, self := fakeProgram(t), executable(t)
	p := workspace(t, "ws")
	p.Network = sandbox.NetworkRules
	p.Egress = &sandbox.Egress{Rules: []string{strings.TrimPrefix(server.URL, "http://")}, Proxy: self}
	for address, want := range map[string]string{server.URL: "418", "http://127.0.0.1:1": "403"} {
		var out bytes.Buffer
		r, err := opened(t, at, p).Run(context.Background(), sandbox.Command{Argv: []string{self, "-get", address}, Env: environment, Stdout: &out})
		proxy, status, _ := strings.Cut(out.String(), " ")
		if err != nil || r.ExitCode != 0 || !strings.HasPrefix(status, want) {
			t.Fatalf("%s: %+v, %v, %q", address, r, err, out.String())
		}
		if served := want == "418"; served != (len(r.Hosts) == 1) || served == (len(r.Denials) == 1) {
			t.Errorf("%s: hosts %+v, denials %+v", address, r.Hosts, r.Denials)
		}
		if !slices.Contains(r.Enforced, sandbox.RulesHeld) || slices.Contains(sandbox.GapControls(r.Gaps), sandbox.RulesHeld) {
			t.Errorf("rules: enforced %v, gaps %v", r.Enforced, r.Gaps)
		}
		profile, err := os.ReadFile(filepath.Dir(at) + "/profile")
		check(t, err)
		remotes := regexp.MustCompile(`\(remote [^)]*\)`).FindAllString(string(profile), -1)
		_, port, _ := net.SplitHostPort(proxy)
		if want := `(remote ip "localhost:` + port + `")`; !slices.Equal(remotes, []string{want}) {
			t.Errorf("the profile lets through %q, want %s", remotes, want)
		}
		if c, err := net.DialTimeout("tcp", proxy, time.Second); err == nil {
			c.Close()
			t.Error("the proxy is left")
		}
	}
	plan, err := opened(t, at, p).Plan(sandbox.Command{Argv: []string{"true"}, Env: environment})
	check(t, err)
	if !slices.Contains(plan.Env, "HTTP_PROXY") || !strings.Contains(strings.Join(plan.Steps, "\n"), "localhost:PORT") {
		t.Errorf("plan: %q, %q", plan.Env, plan.Steps)
	}
}

// Without its proxy a run with rules does not begin.
func TestNoProxy(t *testing.T) {
	at, p := fakeProgram(t), workspace(t, "ws")
	p.Network = sandbox.NetworkRules
	for _, proxy := range []string{"", "/nonexistent/sbx-proxy", "/bin/true"} {
		p.Egress = &sandbox.Egress{Rules: []string{"a.test"}, Proxy: proxy}
		r, err := opened(t, at, p).Run(context.Background(), sandbox.Command{Argv: []string{"sh", "-c", ": >ran"}, Env: environment})
		if _, ran := os.Stat(p.Workspace + "/ran"); !errors.Is(err, sandbox.ErrStart) || r.Ending != sandbox.NotStarted || ran == nil {
			t.Errorf("%q: %+v, %v", proxy, r, err)
		}
	}
}

func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	return self
}
