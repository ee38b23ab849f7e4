package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// power judges programs that power the host off or reboot it.
func (k *checker) power(i int, c *shell.Call, name string) {
	off := false
	switch name {
	case "shutdown":
		off = !hasOption(c, "t", "", 'c', "") && !hasOption(c, "t", "", 'k', "") && !hasLong(c, "help") && !hasLong(c, "version") && !hasLong(c, "show")
	case "reboot", "halt", "poweroff":
		off = !hasOption(c, "", "", 'w', "wtmp-only") && !hasLong(c, "help") && !hasLong(c, "version")
	case "init", "runit-init":
		v := firstOperand(c)
		off = v == "0" || v == "6"
	case "telinit":
		v := firstOperand(c)
		off = len(v) == 1 && strings.IndexByte("0123456sS", v[0]) >= 0
	case "systemd-shutdown":
		v := firstOperand(c)
		off = v == "poweroff" || v == "reboot" || v == "halt" || v == "kexec"
	case "openrc-shutdown":
		off = !hasLong(c, "help")
	case "systemctl":
		off = systemctl(c)
	case "loginctl":
		v := firstOperand(c)
		off = v == "poweroff" || v == "reboot" || v == "halt"
	case "kexec":
		off = hasOption(c, "lpt", "", 'e', "exec") || hasOption(c, "", "", 0, "force")
	case "rtcwake":
		off = hasValue(c, "mdst", "mode seconds time date device", 'm', "mode", "off")
	case "gnome-session-quit":
		off = hasLong(c, "power-off") || hasLong(c, "reboot")
	case "xfce4-session-logout":
		off = hasOption(c, "", "", 'h', "halt") || hasOption(c, "", "", 'r', "reboot")
	case "dbus-send", "busctl", "gdbus", "qdbus":
		off = busCall(c)
	case "Stop-Computer", "Restart-Computer":
		off = !hasWord(c, "-WhatIf") && !hasWord(c, "-ComputerName")
	}
	if off && !k.shadowed(c, name) {
		k.report(wayPower, i, "", spelled(c, firstOperand(c)))
	}
}

// shadowed reports whether a name is no program of the system here: a
// function of the text, or a file of the workspace.
func (k *checker) shadowed(c *shell.Call, name string) bool {
	v := known(&c.Words[0])
	if strings.IndexByte(v, '/') >= 0 {
		var buf [24]element
		p, ok := elements(c.Dir, v, false, buf[:])
		return !ok || k.inside(p)
	}
	for _, by := range c.Carriers {
		if by.Via == shell.ViaArgv { // sudo and env know no functions
			return false
		}
	}
	if k.names.name != name {
		k.names = nameMemo{name: name, from: k.definedAt(name)}
	}
	return k.names.from >= 0 && k.names.from <= c.Span.Start
}

// nameMemo remembers where the text defines the last function that was asked
// for; -1 is nowhere.
type nameMemo struct {
	name string
	from int
}

func (k *checker) definedAt(name string) int {
	for j := range k.s.Calls {
		if c := &k.s.Calls[j]; c.Name() == "unset" && hasWord(c, name) {
			return -1 // it may be the program again
		}
	}
	for n := range k.s.Funcs {
		if k.s.Funcs[n].Name == name {
			return k.s.Funcs[n].Span.Start
		}
	}
	return -1
}

func firstOperand(c *shell.Call) string {
	o := options{args: c.Args(), takes: "Hpqt", long: "host machine property type state output signal lines root image preset-mode job-mode message reboot-argument when"}
	for a, ok := o.next(); ok; a, ok = o.next() {
		if a.operand() {
			return known(a.value)
		}
	}
	return ""
}

func hasLong(c *shell.Call, name string) bool { return hasWord(c, "--"+name) }

func hasValue(c *shell.Call, takes, long string, short byte, name, value string) bool {
	o := options{args: c.Args(), takes: takes, long: long}
	for a, ok := o.next(); ok; a, ok = o.next() {
		if !a.operand() && a.is(short, name) && a.value != nil && known(a.value) == value {
			return true
		}
	}
	return false
}

// systemctl reports whether the verb ends the session of the host: another
// host (-H) and a container (-M) are not this one.
func systemctl(c *shell.Call) bool {
	o := options{args: c.Args(), takes: "HMpqtnosP", long: "host machine property type state output signal lines root image preset-mode job-mode message reboot-argument when"}
	verb, unit := "", ""
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand() && verb == "":
			verb = known(a.value)
		case a.operand() && unit == "":
			unit = known(a.value)
		case a.name == "H" || a.name == "M" || a.name == "host" || a.name == "machine" || a.name == "help" || a.name == "dry-run" || a.name == "version":
			return false
		case a.name == "when" && a.value != nil && (a.value.Value == "show" || a.value.Value == "cancel" || a.value.Value == ""):
			return false
		}
	}
	switch verb {
	case "poweroff", "reboot", "halt", "kexec", "soft-reboot":
		return true
	case "start", "isolate", "restart":
		if verb == "isolate" && strings.IndexByte(unit, '.') < 0 {
			unit += ".target"
		}
		switch strings.TrimSuffix(unit, ".target") {
		case "poweroff", "reboot", "halt", "kexec", "shutdown", "soft-reboot", "runlevel0", "runlevel6":
			return strings.HasSuffix(unit, ".target")
		}
		switch unit {
		case "systemd-poweroff.service", "systemd-reboot.service", "systemd-halt.service", "systemd-kexec.service", "ctrl-alt-del.target":
			return true
		}
	}
	return false
}

// busCall reports whether a D-Bus call asks login1 or its relatives to power
// off.
func busCall(c *shell.Call) bool {
	manager := false
	for _, w := range c.Args() {
		manager = manager || strings.Contains(w.Value, "login1") || strings.Contains(w.Value, "ConsoleKit") || strings.Contains(w.Value, "systemd1")
	}
	if !manager {
		return false
	}
	for _, w := range c.Args() {
		switch w.Value[strings.LastIndexByte(w.Value, '.')+1:] {
		case "PowerOff", "Reboot", "Halt", "KExec", "Stop", "Restart", "PowerOffWithFlags", "RebootWithFlags", "HaltWithFlags", "SoftReboot":
			return true
		}
	}
	return false
}
