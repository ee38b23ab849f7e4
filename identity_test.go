package sbx

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func testAccounts(t *testing.T) accounts {
	t.Helper()
	dir := t.TempDir()
	list := accounts{passwd: filepath.Join(dir, "passwd"), group: filepath.Join(dir, "group")}
	must(t, os.WriteFile(list.passwd, []byte(
		"root:x:0:0:root:/root:/bin/bash\n# comment:x:1000:1::/x:/y\nbroken:line\nann:x:1000:1001:Ann,,,:/home/ann:/bin/zsh\nann2:x:1000:7::/second:/bin/sh\n"+
			"+nis::::::\nlast:x:1002:1002::/home/last:/bin/sh"), 0o644),
		os.WriteFile(list.group, []byte(
			"root:x:0:\nann:x:1001:\ndocker:x:998:bob,ann\nannex:x:997:annex,xann\nsame:x:1001:ann\nbad:x:y:ann\nlast:x:5:last"), 0o644))
	return list
}

func TestIdentityFor(t *testing.T) {
	list := testAccounts(t)
	for _, tc := range []struct {
		name                 string
		caller, owner, group uint32
		want                 *sandbox.Identity
	}{
		{"ordinary user", 1000, 1000, 1001, nil},
		{"ordinary user elsewhere", 1000, 1002, 1002, nil},
		{"ordinary user in root's", 1000, 0, 0, nil},
		{"root at home", 0, 0, 0, nil},
		{"root in ann's", 0, 1000, 50, &sandbox.Identity{UID: 1000, GID: 1001, Groups: []uint32{1001, 998}, Name: "ann", Home: "/home/ann"}},
		{"last line", 0, 1002, 1002, &sandbox.Identity{UID: 1002, GID: 1002, Groups: []uint32{1002, 5}, Name: "last", Home: "/home/last"}},
		{"no account", 0, 4242, 50, &sandbox.Identity{UID: 4242, GID: 50, Groups: []uint32{50}}},
		{"no account, root's group", 0, 4242, 0, &sandbox.Identity{UID: 4242, GID: 4242, Groups: []uint32{4242}}},
	} {
		got := identityFor(tc.caller, tc.owner, tc.group, list)
		if got != nil {
			if !strings.Contains(got.Why, "owns the workspace") {
				t.Errorf("%s: no reason: %q", tc.name, got.Why)
			}
			got.Why = ""
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestAccountsWithoutFiles(t *testing.T) {
	none := accounts{passwd: "/nonexistent/passwd", group: "/nonexistent/group"}
	if id := identityFor(0, 7, 8, none); id == nil || id.UID != 7 || id.GID != 8 || id.Name != "" {
		t.Errorf("%+v", id)
	}
}

func TestUserMaps(t *testing.T) {
	for _, tc := range []struct {
		text string
		uid  uint32
		want bool
	}{
		{"         0          0 4294967295\n", 65534, true},
		{"         0      65533          1\n", 65534, false},
		{"         0      65533          1\n", 0, true},
		{"0 1000 1\n1 100000 65536\n", 65534, true},
		{"0 1000 1\n1 100000 65536\n", 65537, false},
		{"", 0, false},
	} {
		if got := inMap(tc.text, tc.uid); got != tc.want {
			t.Errorf("%d in %q: %v", tc.uid, tc.text, got)
		}
	}
}
