package seatbelt

import (
	"path"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/credentials"
)

// real gives a path as the kernel sees it: without symbolic links, as far as it
// exists. /tmp, /var and /etc of macOS are links into /private.
type real func(string) string

// version is the only one that the language has had.
const version = "(version 1)\n"

// text is the profile in the language of sandbox-exec. It follows from its
// arguments alone. port is where the proxy of NetworkRules listens.
func text(p sandbox.Profile, resolve real, port string) string {
	var b strings.Builder
	b.WriteString(version)
	for _, r := range rules(p, resolve, port) {
		if r.why != "" {
			b.WriteString("; " + r.why + "\n")
		}
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// rules lists the rules. The last one that matches counts: first what every
// command may, then what this one may, then what none may.
func rules(p sandbox.Profile, resolve real, port string) []rule {
	list := slices.Clone(base())
	list = append(list, network(p, resolve, port)...)
	list = append(list, writes(p, resolve)...)
	list = append(list, secrets(p, resolve)...)
	return append(list, protected(p, resolve)...)
}

func allow(why string, operations []string, filters ...filter) rule {
	return rule{verdict: "allow", operations: operations, filters: filters, why: why}
}

func deny(why string, operations []string, filters ...filter) rule {
	return rule{verdict: "deny", operations: operations, filters: filters, why: why}
}

func ops(names ...string) []string { return names }

// base is what programs need to run at all. Set-id programs cannot be executed:
// that is an operation of its own (forbidden-exec-sugid), which nothing allows.
// Neither are hard links and clones of files allowed: they would be a second name
// for what is hidden or protected. Programs fall back to copying.
func base() []rule {
	var lookups []filter
	for _, s := range services {
		lookups = append(lookups, named("global-name", s.name))
	}
	own := pattern("^/dev/ttys[0-9]+$")
	return []rule{
		deny("what no rule allows is refused", ops("default")),
		allow("programs and their children", ops("process-exec", "process-fork")),
		allow("", ops("signal", "process-info*"), word("(target same-sandbox)")),
		allow("reading, but for what stands below; libraries are mapped", ops("file-read*", "file-map-executable")),
		allow("facts about the machine: uname, the number of processors", ops("sysctl-read")),
		allow("services that git, node, python, go and xcrun look up", ops("mach-lookup"), lookups...),
		allow("preferences of the system, read only", ops("user-preference-read")),
		allow("", ops("ipc-posix-shm-read*"), named("ipc-posix-name", "apple.shm.notification_center"), named("ipc-posix-name-prefix", "apple.cfprefs.")),
		allow("semaphores: python's multiprocessing", ops("ipc-posix-sem")),
		allow("devices", ops("file-write-data", "file-ioctl"), literal("/dev/null"), literal("/dev/zero"), literal("/dev/tty"), literal("/dev/dtracehelper")),
		allow("new terminals, and of all terminals those alone", ops("pseudo-tty")),
		allow("", ops("file-read*", "file-write*", "file-ioctl"), literal("/dev/ptmx"), all{own, named("extension", "com.apple.sandbox.pty")}),
		allow("is this a terminal? (isatty)", ops("file-ioctl"), own),
		known("TIOCSTI", deny("nothing is typed into the terminal for the program that reads it next; macOS 12 has no word for that", ops("file-ioctl"), word("(ioctl-command TIOCSTI)"))),
	}
}

// network is off unless something is allowed.
func network(p sandbox.Profile, resolve real, port string) []rule {
	var list []rule
	if p.UnixAllow {
		var binds, connects []filter
		for _, dir := range writable(p, resolve) {
			binds = append(binds, unixSocket("local", dir))
			connects = append(connects, unixSocket("remote", dir))
		}
		list = append(list,
			allow("sockets of the unix family, in directories that may be written", ops("system-socket"), word("(socket-domain AF_UNIX)")),
			allow("", ops("network-bind", "network-inbound"), binds...),
			allow("", ops("network-outbound"), connects...))
	}
	switch {
	case p.Network == sandbox.NetworkNone:
		return list
	case p.Network == sandbox.NetworkRules:
		return append(list, allow("the proxy, and nothing beside it", ops("network-outbound"), local(port)))
	}
	var lookups []filter
	for _, s := range netServices {
		lookups = append(lookups, named("global-name", s.name))
	}
	return append(list,
		allow("the network, but no socket of this machine's services", ops("network-outbound"), word(`(remote ip "*:*")`), literal("/private/var/run/mDNSResponder")),
		allow("", ops("network-bind", "network-inbound"), word(`(local ip "*:*")`)),
		allow("routes and interfaces", ops("system-socket")),
		allow("names and certificates", ops("mach-lookup"), lookups...))
}

// writable lists the directories that the command may change.
func writable(p sandbox.Profile, resolve real) []string {
	var list []string
	dirs := slices.Concat([]string{p.Workspace, p.Private.Temp, p.Private.Cache}, p.Write)
	if p.ReadOnly {
		dirs = dirs[1:]
	}
	for _, dir := range dirs {
		if dir != "" {
			list = append(list, resolve(dir))
		}
	}
	return list
}

func writes(p sandbox.Profile, resolve real) []rule {
	var below, tops []filter
	for _, dir := range writable(p, resolve) {
		below = append(below, subpath(dir))
		tops = append(tops, literal(dir))
	}
	return []rule{
		allow("what may be written", ops("file-write*"), below...),
		deny("these directories themselves stay, and nothing gets the rights of its owner", ops("file-write-unlink"), tops...),
		deny("", ops("file-write-setugid")),
	}
}

// secrets hides, by rules and not by what is there: also what appears later.
func secrets(p sandbox.Profile, resolve real) []rule {
	var hidden []filter
	hide := func(place string) {
		for _, at := range slices.Compact([]string{place, resolve(place)}) {
			if f := matching(at); !slices.Contains(hidden, f) {
				hidden = append(hidden, f)
			}
		}
	}
	for _, place := range p.Hide {
		for _, at := range slices.Compact([]string{place, resolve(place)}) {
			hidden = append(hidden, subpath(at)) // a name, never a pattern
		}
	}
	homes := []string{p.Home}
	if p.Identity != nil && p.Identity.Home != p.Home {
		homes = append(homes, p.Identity.Home)
	}
	for _, home := range homes {
		if !path.IsAbs(home) {
			continue
		}
		for _, place := range slices.Concat(credentials.Home(), macHome[:]) {
			hide(path.Join(resolve(home), place.Path))
		}
	}
	for _, place := range slices.Concat(credentials.System(), macSystem[:]) {
		hide(place.Path)
	}
	list := []rule{deny("credentials, and what the caller hides: neither read nor listed", ops("file-read*", "file-write*"), hidden...)}
	var readable []filter
	for _, place := range p.Read {
		readable = append(readable, subpath(resolve(place)))
	}
	if len(readable) > 0 {
		list = append(list, allow("what the caller lets through", ops("file-read*"), readable...))
	}
	return list
}

// protected keeps files of the workspace as they are. A directory above one cannot
// be moved away with it.
func protected(p sandbox.Profile, resolve real) []rule {
	tops := writable(p, resolve)
	var fixed, above []filter
	for _, place := range p.Protect {
		// A link itself is kept, and what it leads to is listed on its own.
		at := path.Join(resolve(path.Dir(place)), path.Base(place))
		fixed = append(fixed, subpath(at))
		for dir := path.Dir(at); inside(dir, tops); dir = path.Dir(dir) {
			if f := literal(dir); !slices.Contains(above, filter(f)) {
				above = append(above, f)
			}
		}
	}
	if len(fixed) == 0 {
		return nil
	}
	list := []rule{deny("files that programs outside read or run later", ops("file-write*"), fixed...)}
	if len(above) > 0 {
		list = append(list, deny("the directories above them", ops("file-write-unlink"), above...))
	}
	return list
}

// inside says that a path lies below one of some directories.
func inside(at string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/") })
}
