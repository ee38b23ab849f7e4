package direct

import (
	"net/netip"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/notify"
)

// The sights of the tables: what is seen alike on both sides unless said.
func onBoth(name string) sight {
	return sight{path: name, seen: true, around: true, readonly: true, host: hostSight{found: true, device: 1, may: true}}
}

func nowhere(name string) sight {
	s := onBoth(name)
	s.seen, s.host.found = false, false
	return s
}

func folder(name string) sight {
	s := onBoth(name)
	s.directory = true
	return s
}

// unseen is what only the host has.
func unseen(name string) sight {
	s := onBoth(name)
	s.seen, s.around = false, false
	return s
}

func with(s sight, change func(*sight)) sight {
	change(&s)
	return s
}

func forbidden(s *sight)  { s.host.may = false }
func unsure(s *sight)     { s.host.unsure = true }
func changeable(s *sight) { s.readonly = false }
func special(s *sight)    { s.special = true }
func pinned(s *sight)     { s.pinned = true }
func farDevice(s *sight)  { s.host.device = 2 }
func farMount(s *sight)   { s.mount = 2 }

var (
	openWrite    = notify.Event{Call: "openat", Act: notify.Write, Writes: true, Create: true}
	openExist    = notify.Event{Call: "openat", Act: notify.Write, Writes: true}
	openExcl     = notify.Event{Call: "openat", Act: notify.Write, Writes: true, Create: true, Exclusive: true}
	openLock     = notify.Event{Call: "openat", Act: notify.Write, Create: true}
	openTmp      = notify.Event{Call: "openat", Act: notify.Write, Writes: true, Unnamed: true}
	openRead     = notify.Event{Call: "openat", Act: notify.Read}
	makeFolder   = notify.Event{Call: "mkdir", Act: notify.Create}
	unlink       = notify.Event{Call: "unlink", Act: notify.Delete}
	removeFolder = notify.Event{Call: "rmdir", Act: notify.DeleteDir}
	changeMode   = notify.Event{Call: "chmod", Act: notify.Mode}
	touch        = notify.Event{Call: "utimensat", Act: notify.Times}
)

func fullBook() layoutRules {
	return layoutRules{frozen: "/frozen", spots: []layout.Spot{
		{Path: "/dev", Kind: layout.Shut, Dir: true, Above: -1},
		{Path: "/dev/null", Kind: layout.View, Above: 0},
		{Path: "/home/u/.ssh", Kind: layout.Mask, Dir: true, Above: -1},
		{Path: "/home/u/.netrc", Kind: layout.Mask, Above: -1},
		{Path: "/run", Kind: layout.Shut, Dir: true, Above: -1},
		{Path: "/tmp", Kind: layout.Bind, From: "/private", Dir: true, Above: -1},
		{Path: "/var/tmp", Kind: layout.Cover, Dir: true, Above: -1},
		{Path: "/ws", Kind: layout.Bind, Dir: true, Above: -1},
		{Path: "/ws/.git/hooks", Kind: layout.Guard, Dir: true, Above: 7},
	}}
}

func landlockBook() grantRules {
	return grantRules{
		frozen: "/frozen",
		write:  []string{"/ws", "/dev/null", "/dev/shm"},
		read:   []layout.Grant{{Path: "/etc", Dir: true}, {Path: "/home/u/src", Dir: true}, {Path: "/ws", Dir: true}, {Path: "/dev/null", Dir: false}},
		masks:  []string{"/home/u/.ssh", "/home/u/.netrc"},
	}
}

type judgement struct {
	name  string
	event notify.Event
	sight sight
	want  string // operation, layer and rule, or "" where nothing is recorded
	allow string
}

func judgements(t *testing.T, b rulebook, all []judgement) {
	t.Helper()
	for _, tt := range all {
		got := ""
		d, refused := judgeOne(b, tt.event, tt.sight)
		if refused {
			got = string(d.Operation) + " " + string(d.Layer) + " " + d.Rule
		}
		if got != tt.want || d.Allow != tt.allow || refused && (d.Path != tt.sight.path || d.Call != tt.event.Call) {
			t.Errorf("%s: %q %q\nwant %q %q", tt.name, got, d.Allow, tt.want, tt.allow)
		}
		if refused && d.Likely != tt.sight.host.unsure {
			t.Errorf("%s: likely %v", tt.name, d.Likely)
		}
	}
}

func TestFullRefusals(t *testing.T) {
	const out = " mount " + ruleOutside
	judgements(t, fullBook(), []judgement{
		{"write outside", openWrite, onBoth("/etc/hosts"), "write" + out, "--allow-write /etc/hosts"},
		{"perhaps", openWrite, with(onBoth("/etc/hosts"), unsure), "write" + out, "--allow-write /etc/hosts"},
		{"create outside", openWrite, nowhere("/etc/new"), "create" + out, "--allow-write /etc"},
		{"create at the top", makeFolder, nowhere("/new"), "create" + out, ""},
		{"a name with a space", openWrite, onBoth("/srv/it's a"), "write" + out, `--allow-write '/srv/it'\''s a'`},
		{"a name of any bytes", openWrite, onBoth("/srv/\xff\n"), "write" + out, `--allow-write $'/srv/\xff\x0a'`},
		{"own permissions refuse, too", openWrite, with(onBoth("/etc/hosts"), forbidden), "", ""},
		{"not there", openExist, nowhere("/etc/new"), "", ""},
		{"there already", openExcl, onBoth("/etc/hosts"), "", ""},
		{"a directory opened for writing", openWrite, folder("/etc"), "", ""},
		{"a lock that is there", openLock, onBoth("/etc/lock"), "", ""},
		{"a lock that is not", openLock, nowhere("/etc/lock"), "create" + out, "--allow-write /etc"},
		{"a file without a name", openTmp, folder("/srv/d"), "create" + out, "--allow-write /srv"},
		{"mkdir -p", makeFolder, folder("/usr/local"), "", ""},
		{"delete", unlink, onBoth("/etc/hosts"), "delete" + out, "--allow-write /etc"},
		{"delete nothing", unlink, nowhere("/etc/new"), "", ""},
		{"unlink a directory", unlink, folder("/etc/d"), "", ""},
		{"rmdir", removeFolder, folder("/srv/d"), "delete" + out, "--allow-write /srv"},
		{"rmdir of a file", removeFolder, onBoth("/srv/f"), "", ""},
		{"chmod", changeMode, onBoth("/etc/hosts"), "metadata" + out, "--allow-write /etc/hosts"},
		{"touch", touch, onBoth("/etc/hosts"), "metadata" + out, "--allow-write /etc/hosts"},
		{"in the workspace", openWrite, with(nowhere("/ws/new"), changeable), "", ""},
		{"a hook", openWrite, nowhere("/ws/.git/hooks/pre-commit"), "create mount " + ruleGuarded, "--unprotect /ws/.git/hooks"},
		{"the hooks", removeFolder, with(folder("/ws/.git/hooks"), pinned), "delete mount " + ruleGuarded, "--unprotect /ws/.git/hooks"},
		{"the workspace", removeFolder, with(with(folder("/ws"), changeable), pinned), "delete mount " + rulePinned, ""},
		{"a workspace that is read-only", openWrite, onBoth("/frozen/f"), "write mount " + ruleFrozen, ""},
		{"a pipe outside", openExist, with(onBoth("/srv/pipe"), special), "write landlock " + ruleOutside, "--allow-write /srv/pipe"},
		{"/dev/null", openWrite, with(onBoth("/dev/null"), special), "", ""},
		{"a disk", openExist, unseen("/dev/sda"), "write cover " + ruleDevices, ""},
		{"a kernel setting", openExist, onBoth("/proc/sys/kernel/hostname"), "write mount " + ruleKernel, ""},
		{"another", openExist, onBoth("/sys/power/state"), "write mount " + ruleKernel, ""},
		{"below a cover", openExist, unseen("/run/d/f"), "write cover /run is covered: daemons listen there, credentials may be there", "--allow-write /run/d/f"},
		{"in a cover", openWrite, nowhere("/run/f"), "create cover /run is covered: daemons listen there, credentials may be there", "--allow-write /run"},
		{"the host's /tmp", openExist, unseen("/tmp/d/f"), "write cover /tmp is the command's own", "--allow-write /tmp/d/f"},
		{"the host's /var/tmp", unlink, unseen("/var/tmp/f"), "delete cover /var/tmp is the command's own", "--allow-write /var/tmp"},
		{"own /var/tmp", openWrite, with(nowhere("/var/tmp/f"), changeable), "", ""},
		{"known hosts", openWrite, unseen("/home/u/.ssh/known_hosts"), "write cover " + ruleHidden, "--allow-write /home/u/.ssh/known_hosts"},
		{"a hidden file", openWrite, onBoth("/home/u/.netrc"), "write cover " + ruleHidden, "--allow-write /home/u/.netrc"},
		{"reading a hidden file", openRead, onBoth("/home/u/.netrc"), "read cover " + ruleHidden, "--allow-read /home/u/.netrc"},
		{"reading below", openRead, unseen("/home/u/.ssh/id"), "read cover " + ruleHidden, "--allow-read /home/u/.ssh/id"},
		{"reading what is open", openRead, onBoth("/etc/hosts"), "", ""},
		{"reading what is nowhere", openRead, nowhere("/etc/x"), "", ""},
		{"reading what one may not", openRead, with(onBoth("/home/u/.netrc"), forbidden), "", ""},
		{"an act of no kind", notify.Event{}, onBoth("/etc/hosts"), "", ""},
	})
}

func TestLandlockRefusals(t *testing.T) {
	const out = " landlock " + ruleOutside
	judgements(t, landlockBook(), []judgement{
		{"write outside", openWrite, onBoth("/etc/hosts"), "write" + out, "--allow-write /etc/hosts"},
		{"create outside", openWrite, nowhere("/etc/new"), "create" + out, "--allow-write /etc"},
		{"beside the workspace", openWrite, nowhere("/ws2/new"), "create" + out, "--allow-write /ws2"},
		{"in the workspace", openWrite, nowhere("/ws/new"), "", ""},
		{"a workspace that is read-only", openWrite, onBoth("/frozen/f"), "write landlock " + ruleFrozen, ""},
		{"the workspace itself", removeFolder, folder("/ws"), "delete" + out, ""},
		{"delete", unlink, onBoth("/etc/hosts"), "delete" + out, "--allow-write /etc"},
		{"delete in the workspace", unlink, onBoth("/ws/f"), "", ""},
		{"chmod is a gap of the tier", changeMode, onBoth("/etc/hosts"), "", ""},
		{"/dev/null", openWrite, with(onBoth("/dev/null"), special), "", ""},
		{"a disk", openExist, with(onBoth("/dev/sda"), special), "write landlock " + ruleDevices, ""},
		{"shared memory", openWrite, nowhere("/dev/shm/x"), "", ""},
		{"a kernel setting", openExist, onBoth("/proc/sys/kernel/hostname"), "write landlock " + ruleKernel, ""},
		{"reading a hidden file", openRead, onBoth("/home/u/.netrc"), "read landlock " + ruleHidden, "--allow-read /home/u/.netrc"},
		{"listing a hidden directory", openRead, folder("/home/u/.ssh"), "", ""},
		{"reading what came later", openRead, onBoth("/home/u/new"), "read landlock " + ruleLate, "--allow-read /home/u/new"},
		{"reading what is open", openRead, onBoth("/etc/hosts"), "", ""},
		{"own permissions refuse, too", openWrite, with(onBoth("/etc/hosts"), forbidden), "", ""},
	})
}

func TestRenamesAndLinks(t *testing.T) {
	rename := notify.Event{Call: "rename", Act: notify.Rename}
	keep := notify.Event{Call: "renameat2", Act: notify.Rename, Exclusive: true}
	link := notify.Event{Call: "link", Act: notify.Link}
	inside, fresh := with(onBoth("/ws/f"), changeable), with(nowhere("/ws/new"), changeable)
	full, ll := fullBook(), landlockBook()
	tests := []struct {
		name     string
		book     rulebook
		event    notify.Event
		from, to sight
		want     string
		allow    string
	}{
		{"out", full, rename, inside, with(nowhere("/srv/f"), farMount), "rename mount " + ruleOutside + " and on another mount: copying works, with --allow-write /srv", ""},
		{"in", full, rename, with(onBoth("/srv/f"), farMount), fresh, "rename mount " + ruleOutside + " and on another mount: copying works, with --allow-write /srv", ""},
		{"outside", full, rename, onBoth("/srv/f"), nowhere("/srv/g"), "rename mount " + ruleOutside, "--allow-write /srv"},
		{"within", full, rename, inside, fresh, "", ""},
		{"onto a file", full, rename, inside, with(onBoth("/ws/g"), changeable), "", ""},
		{"onto a directory", full, rename, inside, folder("/srv"), "", ""},
		{"not onto a file", full, keep, inside, onBoth("/srv/f"), "", ""},
		{"nothing", full, rename, nowhere("/srv/f"), fresh, "", ""},
		{"to another file system", full, rename, inside, with(nowhere("/srv/f"), farDevice), "", ""},
		{"to another mount that may change", full, rename, inside, with(with(nowhere("/var/tmp/f"), changeable), farMount), "rename mount " + ruleApart, ""},
		{"what one may not", full, rename, with(onBoth("/srv/f"), forbidden), fresh, "", ""},
		{"onto what one may not", full, rename, inside, with(nowhere("/srv/f"), forbidden), "", ""},
		{"link in", full, link, with(onBoth("/srv/f"), farMount), fresh, "link mount " + ruleOutside + " and on another mount: copying works, with --allow-write /srv", ""},
		{"link within", full, link, inside, fresh, "", ""},
		{"link onto a file", full, link, onBoth("/srv/f"), inside, "", ""},
		{"out, landlock", ll, rename, inside, nowhere("/srv/f"), "rename landlock " + ruleOutside, "--allow-write /srv"},
		{"in, landlock", ll, rename, onBoth("/srv/f"), fresh, "rename landlock " + ruleOutside, "--allow-write /srv"},
		{"within, landlock", ll, rename, inside, with(fresh, farMount), "", ""},
		{"link in, landlock", ll, link, onBoth("/srv/f"), fresh, "link landlock " + ruleOutside, "--allow-write /srv"},
	}
	for _, tt := range tests {
		d, refused := judgeTwo(tt.book, tt.event, tt.from, tt.to)
		got := ""
		if refused {
			got = string(d.Operation) + " " + string(d.Layer) + " " + d.Rule
			if d.Path != tt.from.path || d.To != tt.to.path {
				t.Errorf("%s: %q, %q", tt.name, d.Path, d.To)
			}
		}
		if got != tt.want || refused && d.Allow != tt.allow {
			t.Errorf("%s: %q %q\nwant %q %q", tt.name, got, d.Allow, tt.want, tt.allow)
		}
	}
	if d, _ := judgeTwo(full, rename, with(inside, unsure), nowhere("/srv/f")); d.Layer != sandbox.LayerMount || !d.Likely {
		t.Errorf("not likely: %+v", d)
	}
}

func TestConnections(t *testing.T) {
	for _, tt := range []struct {
		net   sandbox.Network
		peer  string
		route bool
		want  string
	}{
		{sandbox.NetworkNone, "192.0.2.7:22", true, "connect 192.0.2.7:22: refused by network, the network is off; --network on would allow it; retrying will not help"},
		{sandbox.NetworkRules, "[fd00::7]:443", true, "connect [fd00::7]:443: refused by network, only the proxy leads out, and the program did not use it; retrying will not help"},
		{sandbox.NetworkNone, "[fe80::7%eth0]:443", true, "connect [fe80::7]:443: refused by network, the network is off; --network on would allow it; retrying will not help"},
		{sandbox.NetworkNone, "192.0.2.7:22", false, ""},
		{sandbox.NetworkNone, "127.0.0.1:22", true, ""},
		{sandbox.NetworkNone, "127.9.9.9:22", true, ""},
		{sandbox.NetworkNone, "[::1]:22", true, ""},
		{sandbox.NetworkNone, "0.0.0.0:22", true, ""},
		{sandbox.NetworkNone, "[::]:22", true, ""},
	} {
		got := ""
		if d, refused := judgeConnect(tt.net, notify.Event{Act: notify.Connect, Peer: netip.MustParseAddrPort(tt.peer)}, tt.route); refused {
			got = d.String()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.peer, got, tt.want)
		}
	}
	if d, refused := judgeConnect(sandbox.NetworkNone, notify.Event{Act: notify.Connect}, true); refused {
		t.Errorf("no address: %v", d)
	}
}
