package hook

import (
	"errors"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/shell"
)

func TestGate(t *testing.T) {
	rules, err := permit.Load([]permit.Rule{
		{Name: "no-push", Argv: []string{"git", "push"}, Verdict: "deny", Because: "by hand"},
		{Name: "keys", Path: "/srv/keys", Verdict: "ask", Because: "who needs it?"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	deletes, _ := classify.Parse("deletes")
	for _, c := range []struct {
		name, command string
		gate          *Gate
		broken        error
		allowed       classify.Tags
		autoAllow     bool
		unattended    bool
		want          Verdict
		says          string
	}{
		{name: "none", command: "rm x", want: Ask, says: "--allow deletes"},
		{name: "covered", command: "rm x", gate: &Gate{Grants: []string{"bash:deletes+network"}}, want: None},
		{name: "covered, and allowed", command: "rm x", gate: &Gate{Grants: []string{"bash:any"}}, autoAllow: true, want: Allow},
		{name: "harmless", command: "ls", gate: &Gate{Grants: []string{"bash:deletes"}}, want: None},
		{name: "not covered", command: "rm x; curl y.test", gate: &Gate{Grants: []string{"bash:deletes"}}, want: Ask, says: "Never permitted so far: network. The owner can permit it: bash:deletes+network"},
		{name: "not together", command: "rm x; curl y.test", gate: &Gate{Grants: []string{"bash:deletes", "bash:network"}}, want: Ask, says: "not together"},
		{name: "of another tool", command: "rm x", gate: &Gate{Grants: []string{"write_file:any"}}, want: Ask, says: "deletes"},
		{name: "with what was allowed beforehand", command: "rm x; curl y.test", gate: &Gate{Grants: []string{"bash:network"}}, allowed: deletes, want: None},
		{name: "tainted", command: "rm x", gate: &Gate{Grants: []string{"*"}, Tainted: true}, want: Ask, says: "Content from outside"},
		{name: "tainted, without a risk", command: "ls", gate: &Gate{Grants: []string{"*"}, Tainted: true}, autoAllow: true, want: Ask, says: "Content from outside"},
		{name: "tainted, allowed beforehand", command: "rm x", gate: &Gate{Tainted: true}, allowed: deletes, autoAllow: true, want: Ask, says: "deletes"},
		{name: "tainted, nobody there", command: "ls", gate: &Gate{Grants: []string{"*"}, Tainted: true}, unattended: true, want: Deny, says: "Nobody can be asked"},
		{name: "nobody there", command: "rm x", gate: &Gate{}, unattended: true, want: Deny, says: "Nobody can be asked"},
		{name: "nobody there, covered", command: "rm x", gate: &Gate{Grants: []string{"bash:deletes"}}, unattended: true, want: None},
		{name: "refused by a policy", command: "git push", gate: &Gate{Grants: []string{"*"}, Policies: rules}, autoAllow: true, want: Deny, says: "by hand (policy no-push)"},
		{name: "a policy's question", command: "cat /srv/keys/x", gate: &Gate{Grants: []string{"*"}, Policies: rules}, autoAllow: true, want: Ask, says: "who needs it?"},
		{name: "which was answered", command: "cat /srv/keys/x", gate: &Gate{Grants: []string{"policy_ask__bash:any", "*"}, Policies: rules}, want: None},
		{name: "a configuration that is broken", command: "ls", broken: errors.New("no policy"), want: Ask, says: "no policy"},
		{name: "guard comes first", command: "rm -rf /", gate: &Gate{Grants: []string{"*"}}, want: Deny, says: "delete-system"},
		{name: "what does not parse", command: "rm x; fi", gate: &Gate{Grants: []string{"*"}}, want: Ask, says: "could not read"},
	} {
		o := Options{Allowed: c.allowed, AutoAllow: c.autoAllow, Home: "/home/ann", Gate: func(shell.Where) (*Gate, error) { return c.gate, c.broken }}
		e := Event{Shell: true, Command: c.command, Cwd: "/srv/app"}
		if c.unattended {
			e.Mode = "dontAsk"
		}
		d := claudeCode.judge(e, o)
		if d.Verdict != c.want || !strings.Contains(d.Reason, c.says) {
			t.Errorf("%s: verdict %d, want %d: %s", c.name, d.Verdict, c.want, d.Reason)
		}
	}
}
