package ssh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/shlex"
)

// fixed are settings of every connection, whatever the user's configuration
// says: of each, ssh takes the first value that it sees.
var fixed = [...]struct{ key, value, why string }{
	{"BatchMode", "yes", "nobody is there to be asked"},
	{"StrictHostKeyChecking", "yes", "an unknown or changed host key is refused"},
	{"VerifyHostKeyDNS", "no", "known_hosts alone says who the other machine is"},
	{"NoHostAuthenticationForLocalhost", "no", "the same for this machine"},
	{"UpdateHostKeys", "no", "the user's files are not changed"},
	{"AddKeysToAgent", "no", "the user's agent is not changed"},
	{"ForwardAgent", "no", "a command there must not use the keys here"},
	{"ForwardX11", "no", "a command there must not reach the display here"},
	{"ForwardX11Trusted", "no", "the same"},
	{"ClearAllForwardings", "yes", "no port leads anywhere"},
	{"Tunnel", "no", "no network either"},
	{"GSSAPIDelegateCredentials", "no", "tickets stay here"},
	{"PermitLocalCommand", "no", "connecting runs nothing here"},
	{"RemoteCommand", "none", "what runs there is sbx"},
	{"RequestTTY", "no", "terminals are made there"},
	{"EscapeChar", "none", "no byte of input means anything to ssh"},
	{"LogLevel", "ERROR", "its words are kept for errors"},
}

// managed are settings that sbx makes by itself.
var managed = []string{"ControlMaster", "ControlPath", "ControlPersist"}

// refused are settings that would widen what a command or the other machine may
// do, or that have no meaning here.
var refused = []string{
	"LocalForward", "RemoteForward", "DynamicForward", "GatewayPorts", "PermitRemoteOpen", "TunnelDevice", "StreamLocalBindUnlink",
	"LocalCommand", "SendEnv", "SetEnv", "EnableEscapeCommandline", "ForkAfterAuthentication", "SessionType", "StdinNull", "XAuthLocation", "ForwardX11Timeout",
	"Host", "Match", "Include",
}

// usual are settings that the user's options come before.
var usual = [...]string{"ConnectTimeout=20", "ServerAliveInterval=5", "ServerAliveCountMax=3"}

// The flags of ssh that may be passed on: without a value, and with one.
const (
	plainFlags = "46C"
	valueFlags = "bBcFiIJlmop"
)

// clientOptions reads the user's further options.
func clientOptions(line string) ([]string, error) {
	words, err := shlex.Split(line)
	if err != nil {
		return nil, fmt.Errorf("options %q: %w", line, err)
	}
	var list []string
	for i := 0; i < len(words); i++ {
		word := words[i]
		if len(word) < 2 || word[0] != '-' || word == "--" {
			return nil, fmt.Errorf("options: %q is no option of ssh; the machine is named by host", word)
		}
		flag, value := word[1], word[2:]
		switch {
		case strings.IndexByte(plainFlags, flag) >= 0:
			if value != "" {
				return nil, fmt.Errorf("options: write %q as options of their own", word)
			}
			list = append(list, word)
			continue
		case strings.IndexByte(valueFlags, flag) < 0:
			return nil, fmt.Errorf("options: -%c is not passed on: it would widen what the connection carries, or has no meaning here", flag)
		}
		if value == "" {
			if i++; i == len(words) {
				return nil, fmt.Errorf("options: -%c needs a value", flag)
			}
			value = words[i]
		}
		if flag == 'o' {
			if err := checkSetting(value); err != nil {
				return nil, err
			}
		}
		list = append(list, "-"+string(flag), value)
	}
	return list, nil
}

// checkSetting refuses a -o that sbx sets itself or that would widen.
func checkSetting(setting string) error {
	key := strings.TrimSpace(setting)
	if end := strings.IndexAny(key, "= \t"); end >= 0 {
		key = key[:end]
	}
	// ssh takes a name in quotes, too, which no list here would know.
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) {
		return fmt.Errorf("options: -o %q: want KEY=VALUE", setting)
	}
	is := func(name string) bool { return strings.EqualFold(name, key) }
	for _, f := range fixed {
		if is(f.key) {
			return fmt.Errorf("options: %s is always %s: %s", f.key, f.value, f.why)
		}
	}
	if slices.ContainsFunc(managed, is) {
		return fmt.Errorf("options: %s is sbx's own business", key)
	}
	if slices.ContainsFunc(refused, is) {
		return fmt.Errorf("options: %s is not passed on: it would widen what the connection carries, or has no meaning here", key)
	}
	return nil
}

// masterArguments are those of the connection that is kept. The user's
// configuration is read for it.
func (o Options) masterArguments(socket string) ([]string, error) {
	var args []string
	for _, f := range fixed {
		args = append(args, "-o", f.key+"="+f.value)
	}
	further, err := clientOptions(o.Options)
	if err != nil {
		return nil, err
	}
	args = append(args, further...)
	for _, setting := range usual {
		args = append(args, "-o", setting)
	}
	keep := o.Keep
	if keep <= 0 {
		keep = DefaultKeep
	}
	return append(args, "-o", fmt.Sprintf("ControlPersist=%d", int(keep.Seconds()+0.5)), "-M", "-S", escapePath(socket), "-N", "-f", "-T", "-a", "-x", "--", o.Host), nil
}

// sessionArguments are those of a session over that connection. They read no
// configuration: what the user set for connecting says nothing about what a
// session sends, and there is nothing left to connect to.
func (o Options) sessionArguments(socket, command string) []string {
	args := []string{"-F", "/dev/null"}
	for _, f := range fixed {
		args = append(args, "-o", f.key+"="+f.value)
	}
	return append(args, "-o", "ProxyCommand=false", "-o", "ControlMaster=no", "-S", escapePath(socket), "-T", "-a", "-x", "--", o.Host, command)
}

// escapePath keeps ssh from expanding a path.
func escapePath(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// inShell makes a fixed text one that any login shell gives to sh.
func inShell(text string) string { return "exec /bin/sh -c '" + text + "'" }
