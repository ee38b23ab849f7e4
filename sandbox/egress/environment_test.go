package egress

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	given := []string{
		"PATH=/bin", "HTTPS_PROXY=http://ann:s3cret@proxy.test:3128", "https_proxy=http://ann:s3cret@proxy.test:3128", "https_proxy=http://twice:s3cret@x",
		"NO_PROXY=corp.test", "no_proxy=corp.test", "PIP_PROXY=http://ann:s3cret@x", "CARGO_HTTP_PROXY=http://ann:s3cret@x", "npm_config_proxy=http://ann:s3cret@x", "JAVA_TOOL_OPTIONS=-Xmx1g",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Ann", "EMPTY=", "NOEQUALS",
	}
	before := slices.Clone(given)
	env := Environment(given)
	if !slices.Equal(given, before) {
		t.Error("the list that was given has changed")
	}
	seen := map[string]int{}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if seen[name]++; seen[name] > 1 {
			t.Errorf("%s stands twice", name)
		}
		if strings.Contains(kv, "s3cret") || strings.Contains(kv, "corp.test") {
			t.Errorf("%s is left", kv)
		}
	}
	for _, want := range []string{
		"PATH=/bin", "EMPTY=", "NOEQUALS", "HTTP_PROXY=http://127.0.0.1:61280", "https_proxy=http://127.0.0.1:61280", "NO_PROXY=localhost,127.0.0.1,::1",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_KEY_1=http.proxy", "GIT_CONFIG_VALUE_1=http://127.0.0.1:61280",
		"JAVA_TOOL_OPTIONS=-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=61280 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=61280 -Dhttp.nonProxyHosts=localhost|127.*|[::1]",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	// What docs/network.md lists.
	for _, name := range []string{
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "npm_config_proxy", "npm_config_https_proxy",
		"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY",
	} {
		if !slices.Contains(env, name+"=http://127.0.0.1:61280") {
			t.Errorf("no %s in %q", name, env)
		}
	}
	for _, want := range []string{"NODE_USE_ENV_PROXY=1", "RSYNC_PROXY=127.0.0.1:61280", "no_proxy=localhost,127.0.0.1,::1", "npm_config_noproxy=localhost,127.0.0.1,::1"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	for _, v := range variables {
		if v.who == "" {
			t.Errorf("%s has no reason", v.name)
		}
	}
}
