package proc

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// A folder that a group can write to is ours when nobody else is in the group.
func TestSoleMember(t *testing.T) {
	users := []string{"root:x:0:0:root:/root:/bin/sh", "ann:x:1000:1000::/home/ann:/bin/sh", "bob:x:1001:1001::/home/bob:/bin/sh", "", "broken"}
	eve := append([]string{"eve:x:1002:1000::/home/eve:/bin/sh"}, users...)
	for _, tt := range []struct {
		passwd []string
		group  string
		gid    uint32
		uid    uint32
		want   bool
	}{
		{users, "ann:x:1000:", 1000, 1000, true},
		{users, "ann:x:1000:ann", 1000, 1000, true},
		{users, "root:x:0:", 0, 0, true},
		{users, "ann:x:1000:bob", 1000, 1000, false},
		{users, "ann:x:1000:ann,bob", 1000, 1000, false},
		{users, "staff:x:1000:", 1000, 1000, false},
		{users, "ann:x:1000:", 1000, 0, false},
		{users, "ann:x:1000:", 1000, 1001, false},
		{users, "ann:x:1000:", 1001, 1000, false},
		{users, "", 1000, 1000, false},
		{nil, "ann:x:1000:", 1000, 1000, false},
		{eve, "ann:x:1000:", 1000, 1000, false},
		{append(users, "ann2:x:1000:1000::/:/bin/sh"), "ann:x:1000:", 1000, 1000, false},
	} {
		if got := soleMember(tt.passwd, []string{"x:x:7:", tt.group}, tt.gid, tt.uid); got != tt.want {
			t.Errorf("%q, group %d for user %d: %v", tt.group, tt.gid, tt.uid, got)
		}
	}
}

// An access list lets others write by the bits of the group.
func TestTrustedAccessList(t *testing.T) {
	s := newShelf(t)
	at := s.program("bin/tool")
	dir := filepath.Dir(at)
	s.must(os.Chmod(dir, 0o775))
	if !soleMember(fileLines("/etc/passwd"), fileLines("/etc/group"), uint32(os.Getegid()), uint32(os.Geteuid())) {
		t.Skip("this user has no group of its own")
	}
	if err := Trusted(at, sandbox.Profile{}); err != nil {
		t.Fatalf("control: %v", err)
	}
	list := []byte{ // acl(5): version 2; owner rwx, user 65534 rwx, group r-x, mask rwx, others r-x
		2, 0, 0, 0,
		1, 0, 7, 0, 0xff, 0xff, 0xff, 0xff,
		2, 0, 7, 0, 0xfe, 0xff, 0, 0,
		4, 0, 5, 0, 0xff, 0xff, 0xff, 0xff,
		0x10, 0, 7, 0, 0xff, 0xff, 0xff, 0xff,
		0x20, 0, 5, 0, 0xff, 0xff, 0xff, 0xff,
	}
	if err := unix.Setxattr(dir, "system.posix_acl_access", list, 0); err == unix.ENOTSUP {
		t.Skip("this file system has no access lists")
	} else {
		s.must(err)
	}
	if err := Trusted(at, sandbox.Profile{}); err == nil {
		t.Error("a folder that user 65534 can write to is trusted")
	}
}
