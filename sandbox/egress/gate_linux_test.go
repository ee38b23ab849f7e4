//go:build amd64 || arm64

package egress

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// program writes a script that stands in for sbx-proxy. $1 is the control socket,
// $2 the way of the listener.
func program(t *testing.T, body string) *sandbox.Egress {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sbx-proxy")
	if err := os.WriteFile(file, []byte("#!/bin/bash\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return &sandbox.Egress{Rules: []string{"a.test"}, Proxy: file, Upstream: sandbox.Upstream{HTTPS: "http://ann:s3cret@x"}}
}

// A proxy that is not what it should be is an error, never a run without one.
func TestBrokenProxies(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"ends":                 {"exit 0", "it ended"},
		"speaks nonsense":      {`read -ru "$1" x; echo hello >&"$1"; sleep 5`, "invalid character"},
		"another language":     {`read -ru "$1" x; echo '{"hello": 1}' >&"$1"; sleep 5`, "another language"},
		"says what is wrong":   {`read -ru "$1" x; echo '{"error": "no rules"}' >&"$1"`, "sbx-proxy: no rules"},
		"got no listener":      {`read -ru "$1" x; echo '{"error": "x", "no_listener": true}' >&"$1"`, ErrNoListener.Error()},
		"the rules on a pipe":  {`read -ru "$1" x; case $x in *'"rules":["a.test"]'*s3cret*) echo '{"error": "told"}' >&"$1";; esac`, "told"},
		"nothing by argument":  {`read -ru "$1" x; if tr '\0' ' ' </proc/$$/cmdline | cat - /proc/$$/environ | grep -q s3cret; then exit 1; fi; echo '{"error": "clean"}' >&"$1"`, "clean"},
		"no other descriptors": {`read -ru "$1" x; n=0; for f in /proc/$$/fd/*; do f=${f##*/}; case $f in 0|1|2|"$1"|"$2"|255) ;; *) if [ -e "/proc/$$/fd/$f" ]; then n=$((n+1)); fi; esac; done; echo "{\"error\": \"$n more\"}" >&"$1"`, "sbx-proxy: 0 more"},
	} {
		gate, err := Start(program(t, c.body))
		if err == nil {
			err = gate.Ready()
			pid := gate.pid
			gate.Kill()
			if unix.Kill(pid, 0) == nil {
				t.Errorf("%s: it is left", name)
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, e := range map[string]*sandbox.Egress{"none": nil, "no path": {}, "not there": {Proxy: "/nowhere/sbx-proxy"}} {
		if gate, err := Start(e); err == nil {
			gate.Kill()
			t.Errorf("%s: it was started", name)
		}
	}
}

func TestReport(t *testing.T) {
	gate, err := Start(program(t, `read -ru "$1" x; echo '{"ready": true}' >&"$1"; read -ru "$1" x; echo '{"report": {"hosts": [{"host": "a.test", "port": 1}], "denials_beyond": 2}}' >&"$1"`))
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Ready(); err != nil {
		t.Fatal(err)
	}
	report, err := gate.Stop()
	if err != nil || len(report.Hosts) != 1 || report.Hosts[0].Host != "a.test" {
		t.Errorf("%+v, %v", report, err)
	}
	var r sandbox.Result
	report.Fill(&r)
	if len(r.Hosts) != 1 || r.DenialsBeyond != 2 {
		t.Errorf("%+v", r)
	}
}

// A proxy that does not end is killed, and the run says that its record lacks.
func TestProxyThatHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the time that a proxy has")
	}
	gate, err := Start(program(t, `read -ru "$1" x; echo '{"ready": true}' >&"$1"; sleep 60`))
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Ready(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := gate.Stop(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > reportTime+2*time.Second {
		t.Errorf("it took %v", took)
	}
	if unix.Kill(gate.pid, 0) == nil {
		t.Error("it is left")
	}
}
