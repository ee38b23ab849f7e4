package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/config"
)

func TestInConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	s := InConfig{path}
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Granted("a"); err != nil || got != nil {
		t.Errorf("no file: %q, %v", got, err)
	}
	put(`{"agents": {"a": {"tools": ["bash"], "auto_approve": ["bash:deletes"]}}, "sbx": {"auto_approve": ["bash:none"]}}`)
	for agent, want := range map[string][]string{"a": {"bash:deletes"}, "": {"bash:none"}, "ghost": nil} {
		if got, err := s.Granted(agent); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", agent, got, err)
		}
	}
	if err := s.Grant("a", ParseGrant("bash:network"), ParseGrant("write_file:none")); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Granted("a"); !slices.Equal(got, []string{"bash:deletes+network", "write_file:none"}) {
		t.Errorf("%q", got)
	}
	if err := s.Grant("ghost", ParseGrant("bash:none")); err == nil || !strings.Contains(err.Error(), "ghost") {
		t.Error(err)
	}
	if taken, err := s.Clear("a", "bash"); err != nil || !slices.Equal(taken, []string{"bash:deletes+network"}) {
		t.Errorf("%q, %v", taken, err)
	}
	// An edit by hand counts at once.
	put(`{"agents": {"a": {"auto_approve": ["*"]}}}`)
	if got, err := (&Gate{Store: s}).Pass(t.Context(), read("rm x"), Caller{Agent: "a"}, nil); err != nil || got.Why != ByGrant {
		t.Errorf("%+v, %v", got, err)
	}
	put(`{"agents": `)
	if _, err := (&Gate{Store: s}).Pass(t.Context(), read("rm x"), Caller{Agent: "a"}, nil); err == nil || !strings.Contains(err.Error(), "could not be read") {
		t.Errorf("broken: %v", err)
	}
	if taken, err := s.Clear("a", ""); err == nil {
		t.Errorf("broken: %q", taken)
	}
}

func TestFromConfig(t *testing.T) {
	list := []config.Policy{
		{Name: "push", Argv: []string{"git", "push"}, Verdict: "deny", Because: "releases are made by hand", Match: []string{"git push"}, NotMatch: []string{"git pull"}, Agents: []string{"a"}},
		{Name: "net", Tags: []string{"network"}, Verdict: "ask", Because: "look at the host"},
	}
	scopes, err := FromConfig(list, read)
	if err != nil || len(scopes) != 2 || !slices.Equal(scopes[0].Agents, []string{"a"}) {
		t.Fatalf("%+v, %v", scopes, err)
	}
	if got := Consult(t.Context(), scopes, read("git push"), Context{Agent: "a"}); got.Verdict != Refuse || got.Policy != "push" {
		t.Errorf("%+v", got)
	}
	if got := Consult(t.Context(), scopes, read("git push"), Context{Agent: "b"}); got.Verdict == Refuse {
		t.Errorf("%+v", got)
	}
	list[1].Match = []string{"ls"}
	if scopes, err := FromConfig(list, read); err == nil || scopes != nil || !strings.Contains(err.Error(), `policy "net"`) {
		t.Errorf("%v, %v", scopes, err)
	}
	list[1].Name = ""
	if _, err := FromConfig(list, read); err == nil {
		t.Error("without a name")
	}
}
