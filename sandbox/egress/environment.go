package egress

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// proxyURL and proxyAddress stand in the table for where the proxy is.
const (
	proxyURL     = "http://ADDRESS"
	proxyAddress = "ADDRESS"
)

// ownLoopback is not to go through the proxy: servers of the command's own are
// there, and nothing else.
const ownLoopback = "localhost,127.0.0.1,::1"

// variables tell programs where the proxy is. There is no SOCKS address among
// them, though it is served: some libraries end when they see one.
var variables = [...]struct{ name, value, who string }{
	{"HTTP_PROXY", proxyURL, "most programs"},
	{"http_proxy", proxyURL, "curl, wget: in upper case a CGI program could be fooled"},
	{"HTTPS_PROXY", proxyURL, "most programs"},
	{"https_proxy", proxyURL, "wget and others that read lower case only"},
	{"ALL_PROXY", proxyURL, "curl, git, Python's httpx"},
	{"all_proxy", proxyURL, "the same"},
	{"FTP_PROXY", proxyURL, "is answered with a sentence, which a connection would not be"},
	{"ftp_proxy", proxyURL, "the same"},
	{"NO_PROXY", ownLoopback, "in place of the caller's"},
	{"no_proxy", ownLoopback, "in place of the caller's"},
	{"npm_config_proxy", proxyURL, "wins over .npmrc"},
	{"npm_config_https_proxy", proxyURL, "wins over .npmrc"},
	{"npm_config_noproxy", ownLoopback, "wins over .npmrc"},
	{"YARN_HTTP_PROXY", proxyURL, "wins over .yarnrc.yml"},
	{"YARN_HTTPS_PROXY", proxyURL, "wins over .yarnrc.yml"},
	{"PIP_PROXY", proxyURL, "wins over pip.conf"},
	{"CARGO_HTTP_PROXY", proxyURL, "wins over config.toml"},
	{"NODE_USE_ENV_PROXY", "1", "fetch of Node.js reads the variables only then"},
	{"RSYNC_PROXY", proxyAddress, "rsync"},
}

// Environment points the programs of a sandbox to its proxy. What the caller's
// variables of the same names held, credentials perhaps, is gone.
func Environment(env []string) []string { return EnvironmentAt(env, sandbox.ProxyAddress) }

// EnvironmentAt is Environment for a proxy at another address.
func EnvironmentAt(env []string, address string) []string {
	e := environ(slices.Clone(env))
	for _, v := range variables {
		e.set(v.name, strings.Replace(v.value, proxyAddress, address, 1))
	}
	e.git("http.proxy", "http://"+address)
	e.java(address)
	return e
}

type environ []string

func (e environ) get(name string) string {
	value := ""
	for _, kv := range e {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			value = v
		}
	}
	return value
}

// set leaves one variable of the name: of several, programs take different ones.
func (e *environ) set(name, value string) {
	*e = slices.DeleteFunc(*e, func(kv string) bool { n, _, _ := strings.Cut(kv, "="); return n == name })
	*e = append(*e, name+"="+value)
}

// git adds a setting that wins over the files (git-config, GIT_CONFIG_COUNT).
func (e *environ) git(key, value string) {
	n, err := strconv.Atoi(e.get("GIT_CONFIG_COUNT"))
	if err != nil || n < 0 {
		n = 0
	}
	e.set("GIT_CONFIG_KEY_"+strconv.Itoa(n), key)
	e.set("GIT_CONFIG_VALUE_"+strconv.Itoa(n), value)
	e.set("GIT_CONFIG_COUNT", strconv.Itoa(n+1))
}

// java adds properties for every virtual machine; it prints a line about that
// on standard error, which is less bad than a build that finds no network.
func (e *environ) java(address string) {
	host, port, _ := strings.Cut(address, ":")
	options := "-Dhttp.proxyHost=" + host + " -Dhttp.proxyPort=" + port +
		" -Dhttps.proxyHost=" + host + " -Dhttps.proxyPort=" + port + " -Dhttp.nonProxyHosts=localhost|127.*|[::1]"
	e.set("JAVA_TOOL_OPTIONS", strings.TrimSpace(e.get("JAVA_TOOL_OPTIONS")+" "+options))
}
