package shell

import "sort"

// kind is how a carrier finds the command it runs.
type kind uint8

const (
	runsArgv       kind = iota // the words after its own operands
	runsShell                  // a shell: -c TEXT, else text on standard input
	runsXargs                  // the words after its options, and more from standard input
	runsText                   // its operands, joined, are program text
	runsOptionText             // the value of an option is program text
	runsSpecial                // a grammar of its own, see special
)

// carrier is one row of the table: a program that runs another one.
type carrier struct {
	name     string
	kind     kind
	takes    string // options that take a value in the next word
	operands int    // its own operands before the command
	assigns  bool   // NAME=VALUE operands come before the command
	text     string // options whose value is program text
	dir      string // options whose value is the directory the command runs in
	stops    string // options with which nothing is run
	plus     bool   // +o is an option too
	single   bool   // long options with one dash
}

// carriers is sorted by name. Where options differ between versions the union
// stands here: a value taken for a command is found again behind it.
// Sources: the manual pages of coreutils, util-linux, findutils, sudo, bash,
// and of each program.
var carriers = []carrier{
	{name: ".", kind: runsSpecial},
	{name: "alias", kind: runsSpecial},
	{name: "aoss"},
	{name: "arch", takes: ""},
	{name: "ash", kind: runsShell, takes: "o", plus: true},
	{name: "at", kind: runsSpecial, takes: "f q t"},
	{name: "atf-check"},
	{name: "bash", kind: runsShell, takes: "o O rcfile init-file", plus: true},
	{name: "batch", kind: runsSpecial, takes: "f q t"},
	{name: "builtin"},
	{name: "bundle", kind: runsSpecial},
	{name: "busybox"},
	{name: "bwrap", kind: runsSpecial},
	{name: "caffeinate", takes: "t w"},
	{name: "catchsegv"},
	{name: "cgexec", takes: "g"},
	{name: "choom", takes: "n p adjust pid"},
	{name: "chpst", takes: "u U b e d o p f c r t m /"},
	{name: "chronic"},
	{name: "chroot", takes: "userspec groups", operands: 1},
	{name: "chrt", takes: "T P D sched-runtime sched-period sched-deadline", operands: 1, stops: "p pid m max"},
	{name: "command", stops: "v V"},
	{name: "complete", kind: runsOptionText, takes: "A G W F C X P S o", text: "C"},
	{name: "conda", kind: runsSpecial},
	{name: "coproc"},
	{name: "cpulimit", takes: "l p e P"},
	{name: "csh", kind: runsShell},
	{name: "daemonize", takes: "a c e E l o p u"},
	{name: "dash", kind: runsShell, takes: "o", plus: true},
	{name: "dbus-run-session", takes: "config-file dbus-daemon"},
	{name: "detach"},
	{name: "direnv", kind: runsSpecial},
	{name: "doas", takes: "u C a"},
	{name: "doppler", kind: runsSpecial},
	{name: "dotenv", takes: "f file e"},
	{name: "entr", takes: ""},
	{name: "env", assigns: true, takes: "u C unset chdir S split-string block-signal default-signal ignore-signal argv0 a", dir: "C chdir", text: "S split-string"},
	{name: "envdir", operands: 1},
	{name: "eval", kind: runsText},
	{name: "exec", takes: "a"},
	{name: "fakeroot", takes: "l lib faked u s i b"},
	{name: "faketime", operands: 1},
	{name: "fd", kind: runsSpecial},
	{name: "fdfind", kind: runsSpecial},
	{name: "find", kind: runsSpecial},
	{name: "firejail", takes: ""},
	{name: "fish", kind: runsShell, takes: "d o D f C init-command features debug"},
	{name: "flock", kind: runsSpecial, takes: "w E wait timeout conflict-exit-code c command"},
	{name: "forkstat"},
	{name: "gdb", kind: runsSpecial},
	{name: "git", kind: runsSpecial},
	{name: "gnome-terminal", takes: "working-directory title geometry"},
	{name: "gosu", operands: 1},
	{name: "gtime", takes: "f o format output"},
	{name: "hyperfine", kind: runsSpecial, takes: "w r m M p c S i warmup runs min-runs max-runs prepare cleanup setup conclude shell command-name export-json export-csv export-markdown export-asciidoc input output L P D style time-unit s"},
	{name: "ionice", takes: "c n p P u class classdata pid pgid uid", stops: "p P u pid pgid uid"},
	{name: "jailexec"},
	{name: "ksh", kind: runsShell, takes: "o", plus: true},
	{name: "ksh93", kind: runsShell, takes: "o", plus: true},
	{name: "linux32"},
	{name: "linux64"},
	{name: "ltrace", takes: "a A D e F l n o p s S u w x"},
	{name: "mapfile", kind: runsOptionText, takes: "d n O s u C c", text: "C"},
	{name: "mise", kind: runsSpecial},
	{name: "mksh", kind: runsShell, takes: "o", plus: true},
	{name: "nice", takes: "n adjustment"},
	{name: "nix", kind: runsSpecial},
	{name: "nix-shell", kind: runsOptionText, takes: "run command p packages I A attr arg argstr", text: "run command"},
	{name: "nocache"},
	{name: "noglob"},
	{name: "nohup"},
	{name: "npm", kind: runsSpecial},
	{name: "npx", kind: runsSpecial, takes: "p package c call w workspace"},
	{name: "nsenter", takes: "t target S G setuid setgid", stops: ""},
	{name: "numactl", takes: "i p m N C interleave preferred membind cpunodebind physcpubind"},
	{name: "oksh", kind: runsShell, takes: "o", plus: true},
	{name: "osh", kind: runsShell, takes: "o O rcfile", plus: true},
	{name: "parallel", kind: runsSpecial},
	{name: "perf", kind: runsSpecial},
	{name: "pipenv", kind: runsSpecial},
	{name: "pkexec", takes: "user"},
	{name: "pnpm", kind: runsSpecial},
	{name: "poetry", kind: runsSpecial},
	{name: "prlimit", takes: "p pid o output", stops: "p pid"},
	{name: "proot", takes: "r R S b m q w k 0 i rootfs bind mount qemu pwd cwd kernel-release", dir: ""},
	{name: "proxychains", takes: "f"},
	{name: "proxychains4", takes: "f"},
	{name: "rbash", kind: runsShell, takes: "o O rcfile init-file", plus: true},
	{name: "readarray", kind: runsOptionText, takes: "d n O s u C c", text: "C"},
	{name: "rlwrap", takes: "a A b B c C D e f F g H i I l m M N o O p P q r s S t w z"},
	{name: "rr", kind: runsSpecial},
	{name: "run-one"},
	{name: "run0", takes: "u user g group D chdir nice property setenv background", dir: "D chdir"},
	{name: "runuser", kind: runsSpecial, takes: "u user g group G supp-group s shell w whitelist-environment c command session-command"},
	{name: "sbx", kind: runsSpecial},
	{name: "sbx-exec"},
	{name: "screen", kind: runsSpecial, takes: "S c e h p s t T X"},
	{name: "script", kind: runsOptionText, takes: "c command o E I O B T log-in log-out log-io log-timing output-limit echo", text: "c command"},
	{name: "sem", kind: runsSpecial},
	{name: "setarch", operands: 1},
	{name: "setpriv", takes: "reuid regid groups inh-caps ambient-caps bounding-set securebits pdeathsig selinux-label apparmor-profile landlock-access landlock-rule"},
	{name: "setsid"},
	{name: "setuidgid", operands: 1},
	{name: "sh", kind: runsShell, takes: "o O rcfile init-file", plus: true},
	{name: "softlimit", takes: "a c d f l m o p r s t"},
	{name: "ssh-agent", takes: "a E P t"},
	{name: "sshpass", takes: "f p d P"},
	{name: "start-stop-daemon", kind: runsSpecial, takes: "x exec a startas p pidfile n name u user c chuid g group d chdir r chroot N nicelevel P procsched I iosched k umask"},
	{name: "stdbuf", takes: "i o e input output error"},
	{name: "strace", takes: "a b e E I o O p P s S u U X"},
	{name: "su", kind: runsSpecial, takes: "c command s shell g group G supp-group w whitelist-environment session-command"},
	{name: "su-exec", operands: 1},
	{name: "sudo", assigns: true, takes: "u g h p C r t T U D R a c user group host prompt close-from role type command-timeout other-user chdir chroot", dir: "D chdir", stops: "e edit l list v validate k K V"},
	{name: "systemd-inhibit", takes: "what who why mode"},
	{name: "systemd-run", takes: "p u E d M H t property unit description slice setenv working-directory uid gid nice service-type machine host on-active on-boot on-startup on-unit-active on-calendar timer-property path-property socket-property", dir: "working-directory"},
	{name: "taskset", operands: 1, takes: "", stops: "p pid"},
	{name: "tcsh", kind: runsShell},
	{name: "time", takes: "f o format output"},
	{name: "timeout", takes: "k s kill-after signal", operands: 1},
	{name: "tini", takes: "p e v w g s"},
	{name: "tmux", kind: runsSpecial},
	{name: "torify"},
	{name: "torsocks"},
	{name: "toybox"},
	{name: "trap", kind: runsSpecial},
	{name: "tsocks"},
	{name: "unbuffer"},
	{name: "unshare", takes: "S G setuid setgid map-user map-group map-users map-groups R root w wd propagation kill-child monotonic boottime load-interp owner", dir: "w wd"},
	{name: "uv", kind: runsSpecial},
	{name: "valgrind"},
	{name: "watch", kind: runsSpecial, takes: "n interval q equexit s shotsdir"},
	{name: "watchexec", kind: runsSpecial},
	{name: "with-contenv"},
	{name: "xargs", kind: runsXargs, takes: "a d E I L n P s arg-file delimiter max-lines max-args max-procs max-chars replace process-slot-var R S J"},
	{name: "xvfb-run", takes: "e f n p s w error-file auth-file server-num xauth-protocol server-args wait"},
	{name: "yarn", kind: runsSpecial},
	{name: "yash", kind: runsShell, takes: "o", plus: true},
	{name: "zsh", kind: runsShell, takes: "o", plus: true},
}

func lookupCarrier(name string) (*carrier, bool) {
	i := sort.Search(len(carriers), func(i int) bool { return carriers[i].name >= name })
	if i < len(carriers) && carriers[i].name == name {
		return &carriers[i], true
	}
	return nil, false
}
