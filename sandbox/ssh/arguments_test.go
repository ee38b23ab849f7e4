//go:build linux || darwin

package ssh

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// Embedded: the tests run once more elsewhere, as an ordinary user.
//
//go:embed testdata/arguments.golden
var arguments string

// The command lines of ssh, as they are on every system.
func TestArguments(t *testing.T) {
	o := Options{Host: "ana@build", Options: `-p 22 -J 'gate one' -o "ProxyCommand=nc %h %p" -4 -i"a b"`}
	master, err := o.masterArguments("/s/50%")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(master, "\n") + "\n\n" + strings.Join(o.sessionArguments("/s/50%", "exec '/x/sbx' far"), "\n") + "\n"
	if os.Getenv("SBX_UPDATE") != "" {
		if err := os.WriteFile(filepath.Join("testdata", "arguments.golden"), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != arguments {
		t.Errorf("have\n%s", got)
	}
	// Of each setting ssh takes the first: what is fixed comes before the user's.
	if slices.Index(master, "ForwardAgent=no") > slices.Index(master, "-J") {
		t.Error("the user's options come first")
	}
}

func TestStepsOfAPlan(t *testing.T) {
	for mode, want := range map[Mode][]string{
		Shared: {"connect to build by ssh, or use the connection that stands", "start sbx there", "run the command there, confined, in the same directory"},
		Sync: {
			"connect to build by ssh, or use the connection that stands", "start sbx there", "carry what has changed in /ws to ~/work/app there, and back",
			"run the command there, confined", "carry what has changed there back",
		},
	} {
		s := &session{options: Options{Host: "build", Workspace: mode, Dir: "work/app"}, profile: sandbox.Profile{Workspace: "/ws"}}
		if got := s.steps(false); !slices.Equal(got, want) {
			t.Errorf("%s: %q", mode, got)
		}
	}
}

// A status of the command's own would say that all went well.
func TestNotCarriedBackIsLost(t *testing.T) {
	n := &near{session: &session{}}
	for name, tt := range map[string]struct {
		answer wire.Answer
		back   error
	}{
		"this side failed":  {wire.Answer{Result: &sandbox.Result{Ending: sandbox.Exited, ExitCode: 3}}, errors.New("no space here")},
		"that side failed":  {wire.Answer{Result: &sandbox.Result{Ending: sandbox.Exited, ExitCode: 3}, Kind: wire.Lost, Text: "no space there"}, nil},
		"and told this one": {wire.Answer{Result: &sandbox.Result{Ending: sandbox.Exited, ExitCode: 3}, Kind: wire.Lost, Text: "no space there"}, errEnded},
	} {
		a, err := n.conclude(received{answer: tt.answer}, tt.back, false)
		if err != nil || a.Result.Ending != sandbox.Lost || a.Result.ExitCode != 125 || !errors.Is(a.Err(), sandbox.ErrLost) || !strings.Contains(a.Text, "no space") || !strings.Contains(a.Text, "(it ended with 3)") {
			t.Errorf("%s: %v, %+v, %+v", name, err, a, a.Result)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, line := range []string{
		"-A", "-X", "-Y", "-K", "-L 1:x:1", "-R 1:x:1", "-D 1", "-w 0", "-t", "-tt", "-M", "-S /x", "-f", "-N", "-n", "-E /x", "-W x:1", "-O exit", "-g", "-y",
		"-4A", "-p", "host", "--", "-o", "-o ForwardAgent=yes", "-o forwardagent=yes", `-o "ForwardAgent yes"`, "-oStrictHostKeyChecking=no", "-o BatchMode=no",
		"-o LocalForward=1:x:1", "-o RemoteForward=1", "-o DynamicForward=1", "-o SendEnv=*", "-o SetEnv=A=b", "-o LocalCommand=id", "-o PermitLocalCommand=yes",
		"-o ControlPath=/x", "-o ControlPersist=yes", "-o RemoteCommand=id", "-o Tunnel=yes", "-o ' ForwardX11=yes'", "-o Include=/x", "'unclosed",
		`-o '"SendEnv"=*'`, `-o '"LocalForward" 1:x:1'`, "-o =x",
	} {
		if got, err := clientOptions(line); err == nil {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func TestRefusedSettings(t *testing.T) {
	ctx := context.Background()
	for name, o := range map[string]Options{
		"no host":            {},
		"an option":          {Host: "-oProxyCommand=id"},
		"two words":          {Host: "a b"},
		"no such mode":       {Host: "a", Workspace: "rsync"},
		"a path outside":     {Host: "a", Dir: "../x"},
		"an absolute path":   {Host: "a", Dir: "/x"},
		"the home itself":    {Host: "a", Dir: "."},
		"a path when shared": {Host: "a", Dir: "x", Workspace: Shared},
		"a relative program": {Host: "a", Program: "sbx"},
		"a quote":            {Host: "a", Program: "/x'y"},
		"a relative client":  {Host: "a", Client: "ssh"},
		"options":            {Host: "a", Options: "-A"},
	} {
		if _, err := New(o).Open(ctx, sandbox.Profile{}); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ws := t.TempDir()
	if err := os.WriteFile(filepath.Join(ws, "ssh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for where, refused := range map[string]bool{ws: true, t.TempDir(): false} {
		_, err := New(Options{Host: "a", State: t.TempDir(), Client: filepath.Join(ws, "ssh")}).Open(ctx, sandbox.Profile{Workspace: where})
		if refused != (err != nil && strings.Contains(err.Error(), "the command may write to")) {
			t.Errorf("a client in %s, workspace %s: %v", ws, where, err)
		}
	}
	if _, err := New(Options{Host: "a"}).Open(ctx, sandbox.Profile{Preview: &sandbox.Preview{}}); !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("a preview: %v", err)
	}
}

func FuzzParseLook(f *testing.F) {
	f.Add("motd\nsbx-look\nLinux\nx86_64\n/home/a/.cache/sbx/far/0\nnone\n/usr/bin/sbx\n1\n\n")
	f.Fuzz(func(t *testing.T, out string) {
		l, err := parseLook(out)
		if err == nil && (strings.Contains(l.dir+l.installed, "'") || !filepath.IsAbs(l.dir)) {
			t.Fatalf("%+v", l)
		}
	})
}
