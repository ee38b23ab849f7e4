package guard_test

import (
	"strings"
	"testing"

	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

func TestAllow(t *testing.T) {
	where := shell.Where{Cwd: "/home/dev/app", Home: "/home/dev"}
	lib := guard.Allow{Rule: "delete-system", Path: "/var/lib/app", Reason: "ours"}
	disk := guard.Allow{Rule: "write-device", Path: "/dev/sdz", Reason: "a stick"}
	format := guard.Allow{Rule: "format-device", Path: "/dev/sdz", Reason: "a stick"}
	reboot := guard.Allow{Rule: "power-off", Argv: []string{"systemctl", "reboot"}, Reason: "a test machine"}
	pepe := guard.Allow{Rule: "agent-control", Argv: []string{"pepe", "config", "get"}, Reason: "reads"}
	for _, tc := range []struct {
		command string
		allow   guard.Allow
		lifted  bool
	}{
		{"rm -rf /var/lib/app", lib, true},
		{"rm -rf /var/lib/app/*", lib, true},
		{"cd /var/lib && sudo rm -rf app", lib, true},
		{"D=/var/lib/app; bash -c \"rm -rf $D\"", lib, true},
		{`python3 -c 'import shutil; shutil.rmtree("/var/lib/app")'`, lib, true},
		{"rm -rf /var/lib/app /var/lib/dpkg", lib, false},
		{"rm -rf /var/lib/dpkg /var/lib/app", lib, false},
		{"rm -rf /var/lib/app; rm -rf /var/lib/dpkg", lib, false},
		{"rm -rf /var/lib/app/..", lib, false},
		{"rm -rf /var/lib/app2", lib, false},
		{"rm -rf /var/lib/*", lib, false},
		{"find /var/lib/app /etc -delete", lib, false},
		{"find /var/lib/app -delete", lib, true},
		{"chmod -R 777 /var/lib/app", lib, true},
		{"dd if=x of=/dev/sdz", disk, true},
		{"dd if=x of=/dev/sdy", disk, false},
		{"tee /dev/sdz /dev/sdy", disk, false},
		{"mkfs.ext4 /dev/sdz", disk, false},
		{"mkfs.ext4 /dev/sdz", format, true},
		{"mkfs.ext4 /dev/sdy", format, false},
		{"wipefs -a /dev/sdz", format, true},
		{"wipefs -a /dev/sdz /dev/sdy", format, false},
		{"systemctl reboot", reboot, true},
		{"sudo systemctl reboot", reboot, true},
		{"systemctl reboot --force", reboot, true},
		{"systemctl poweroff", reboot, false},
		{"systemctl reboot; poweroff", reboot, false},
		{"pepe config get", pepe, true},
		{"pepe config get x", pepe, false},
		{"pepe config set a b", pepe, false},
		{"echo get | xargs pepe config", pepe, false},
	} {
		if err := tc.allow.Check(); err != nil {
			t.Fatal(err)
		}
		s := shell.ParseAt(tc.command, shell.Bash, where)
		if len(guard.Check(s)) == 0 {
			t.Errorf("%s: guard allows it without", tc.command)
			continue
		}
		left, used := guard.CheckAllowing(s, []guard.Allow{tc.allow})
		if (len(left) == 0) != tc.lifted {
			t.Errorf("%s with %+v: left %v", tc.command, tc.allow, left)
		}
		if tc.lifted && (len(used) == 0 || used[0].Reason != tc.allow.Reason || used[0].Object == "") {
			t.Errorf("%s: used %+v", tc.command, used)
		}
	}
	s := shell.ParseAt("rm /var/lib/app/x", shell.Bash, where)
	if _, used := guard.CheckAllowing(s, []guard.Allow{lib}); len(used) != 0 {
		t.Errorf("an entry that was not needed is said to be used: %v", used)
	}
}

func TestAllowCheck(t *testing.T) {
	for _, tc := range []struct {
		allow guard.Allow
		want  string // part of the error
	}{
		{guard.Allow{}, "no such rule"},
		{guard.Allow{Rule: "delete", Path: "/x", Reason: "r"}, "no such rule"},
		{guard.Allow{Rule: "delete-system", Path: "/x"}, "reason"},
		{guard.Allow{Rule: "delete-system", Path: "/x", Reason: " "}, "reason"},
		{guard.Allow{Rule: "delete-system", Reason: "r"}, "either"},
		{guard.Allow{Rule: "delete-system", Path: "/x", Argv: []string{"rm", "x"}, Reason: "r"}, "either"},
		{guard.Allow{Rule: "delete-system", Path: "/", Reason: "r"}, "everything"},
		{guard.Allow{Rule: "delete-system", Path: "x", Reason: "r"}, "absolute"},
		{guard.Allow{Rule: "delete-system", Path: "/x/../..", Reason: "r"}, "absolute"},
		{guard.Allow{Rule: "delete-system", Argv: []string{"rm"}, Reason: "r"}, "everything"},
		{guard.Allow{Rule: "delete-system", Argv: []string{"", "x"}, Reason: "r"}, "no name"},
		{guard.Allow{Rule: "power-off", Path: "/x", Reason: "r"}, "argv"},
		{guard.Allow{Rule: "agent-control", Path: "/x", Reason: "r"}, "argv"},
	} {
		if err := tc.allow.Check(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.allow, err, tc.want)
		}
	}
}
