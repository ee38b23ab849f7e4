package probes

import (
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// allow begins a list of rules, which may be empty.
const allow = "allow:"

// ruleRows are about a network that is a list of rules. Outside the sandbox there
// is no proxy: the same programs connect by themselves.
func ruleRows() []Row {
	held := []sandbox.Control{sandbox.RulesHeld}
	curl := Needs{Programs: []string{"curl"}}
	here := Needs{}
	rules := func(words ...string) Setup { return Setup{Rules: allow + strings.Join(words, ",")} }
	const (
		fetch = `curl -s -m 3 --noproxy '' -o /dev/null "http://127.0.0.1:$TCP/"`
		// name is tunnelled to. The server hangs up, so that what curl says tells.
		name     = `said=$(curl -sS -m 5 -p --noproxy '' "http://localhost:$TCP/" 2>&1); case $said in *"tunnel failed"* | *"connect to"*) exit 1 ;; esac`
		listed   = "127.0.0.1:$TCP"
		noTokens = "it has no token: its listener lies in the network namespace of the sandbox, which nobody else enters"
	)
	return grouped("rules", []Row{
		{ID: "P88a", Try: "TCP to the host, an empty list", Controls: held, Needs: here, Setup: rules(), Act: []string{"tcp", "$TCP"}},
		{ID: "P88b", Try: "curl to the host by the proxy, an empty list", Controls: held, Needs: curl, Setup: rules(), Shell: fetch},
		{ID: "P87c", Try: "the host's loopback by the proxy, everything public listed", Controls: held, Needs: curl, Setup: rules("*:*"), Shell: fetch},
		{ID: "P87d", Try: "the same, the address written as a number", Controls: held, Needs: curl, Setup: rules("*:*"), Shell: `curl -s -m 3 --noproxy '' -o /dev/null "http://2130706433:$TCP/"`},
		{ID: "P87e", Try: "the same, an IPv4 address in IPv6", Controls: held, Needs: curl, Setup: rules("*:*"), Shell: `curl -s -m 3 --noproxy '' -o /dev/null "http://[::ffff:127.0.0.1]:$TCP/"`},
		{ID: "P89a", Try: "a host, what is below it listed", Controls: held, Needs: curl, Setup: rules("*.localhost:*", listed), Shell: name},
		{ID: "P89b", Try: "a host whose name ends as a listed one", Controls: held, Needs: curl, Setup: rules("ocalhost:*", listed), Shell: name},
		{ID: "P89c", Try: "a listed host by the proxy", Want: Works, Controls: held, Needs: curl, Setup: rules("localhost:$TCP", listed), Shell: name},
		{ID: "P91a", Try: "TCP to a listed host past the proxy", Controls: held, Needs: here, Setup: rules("*:*", listed), Act: []string{"tcp", "$TCP"}},
		{ID: "P91b", Try: "curl to a listed host past the proxy", Controls: held, Needs: curl, Setup: rules("*:*", listed), Shell: `env -u HTTP_PROXY -u http_proxy NO_PROXY='*' curl -s -m 3 --noproxy '*' "http://127.0.0.1:$TCP/"`},
		{
			ID: "N86", Try: "TCP to a listed host, by a program that ignores proxies", Want: Works, Controls: []sandbox.Control{sandbox.AllCarried, sandbox.RulesHeld},
			Setup: rules("localhost:$TCP", listed), Act: []string{"tcp-named", "localhost", "$TCP"}, ControlAct: []string{"tcp", "$TCP"},
		},
		{ID: "P91c", Try: "UDP to the host, everything public listed", Controls: held, Needs: here, Setup: rules("*:*"), Act: []string{"udp", "$UDP"}},
		{ID: "P93", Try: "carry data out in a name to resolve", Controls: held, Needs: Needs{Programs: []string{"dig"}}, Setup: rules("*:*"), Shell: `dig +tries=1 +time=1 -p "$UDP" @127.0.0.1 secret.example.test`},
		{ID: "P94", Try: "use the proxy without its token", Beyond: noTokens},
		{ID: "P95", Try: "be told which rule refused a host", Want: Works, Controls: held, Needs: curl, Setup: rules(), NoControl: "outside there is no proxy", Shell: `curl -s -m 5 --noproxy '' "http://127.0.0.1:$TCP/" | grep -q "refused by proxy.*would allow it"`},
	})
}
