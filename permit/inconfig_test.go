package permit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/classify"
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

// Many grants, long arguments and bytes that are no text change no decision.
func TestLargeAndOdd(t *testing.T) {
	store := InConfig{filepath.Join(t.TempDir(), "config.json")}
	var many []Grant
	for i := range 10_000 {
		many = append(many, Grant{Tool: fmt.Sprint("tool_", i), Any: true})
	}
	if _, err := config.EditGrants(store.Path, "", func([]string) []string {
		texts := make([]string, len(many))
		for i, g := range many {
			texts[i] = g.String()
		}
		return texts
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.Grant("", ParseGrant("bash:writes_file")); err != nil {
		t.Fatal(err)
	}
	g := &Gate{Store: store}
	long := "echo " + strings.Repeat("x", 1<<20) + " >f"
	if got, err := g.Pass(t.Context(), read(long), Caller{}, nil); err != nil || got.Why != ByGrant {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := g.Pass(t.Context(), read("rm x"), Caller{}, nil); err == nil {
		t.Error("10,000 grants of others cover it")
	}
	p := &person{d: Once}
	odd := Call{Tool: "bash", Args: map[string]any{"command": long + "\xff\x00; rm x"}, Tags: classify.Deletes}
	if _, err := g.Pass(t.Context(), odd, Caller{}, p.ask); err != nil || p.asked[0].Subject != odd.Args["command"] {
		t.Errorf("%v: the question does not show all", err)
	}
}

func TestApproveTexts(t *testing.T) {
	store := InConfig{filepath.Join(t.TempDir(), "config.json")}
	sessions := &Sessions{}
	if err := store.Grant("", ParseGrant("bash:deletes"), ParseGrant("write_file:any")); err != nil {
		t.Fatal(err)
	}
	_ = sessions.Grant("s", ParseGrant("bash:network"))
	for _, c := range []struct{ text, want string }{
		{"", "- bash:deletes  (bash: deletes files)\n- write_file:any  (write_file: anything)"},
		{"clear bash", "- took back bash:deletes"},
		{"clear bash", "- nothing to take back"},
		{"list", "- write_file:any  (write_file: anything)"},
		{"everything please", "/approve list, /approve clear, or /approve clear TOOL"},
		{"clear", "- took back write_file:any"},
		{" list ", "- nothing is permitted for good"},
	} {
		if got, err := Approve(store, sessions, "", "s", c.text); err != nil || got != c.want {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
	if sessions.Granted("s") != nil {
		t.Errorf("the session keeps %q", sessions.Granted("s"))
	}
	if _, err := Approve(store, nil, "ghost", "", "clear"); err == nil {
		t.Error("an agent that is not there")
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
