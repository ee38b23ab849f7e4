package layout

import (
	"slices"
	"testing"
)

// A disk with two trees of it mounted, one of them on itself, and another disk.
const twoNames = `21 1 8:1 / / rw - ext4 /dev/sda1 rw
22 21 0:5 / /proc rw - proc proc rw
23 21 8:2 / /data rw - ext4 /dev/sda2 rw
24 21 8:2 /home /home rw - ext4 /dev/sda2 rw
25 21 8:1 /opt/itself /opt/itself rw - ext4 /dev/sda1 rw
26 21 8:1 / /mnt/the\040root ro - ext4 /dev/sda1 rw
27 21 8:2 /home/u/.docker/certs /srv/certs rw - ext4 /dev/sda2 rw
28 21 8:2 /home/u/.config/chromium-1/Default /srv/profile rw - ext4 /dev/sda2 rw
29 21 0:4 net:[4026532461] /run/netns/a rw - nsfs nsfs rw
30 21 8:2 / /over rw - ext4 /dev/sda2 rw
31 30 0:9 / /over rw - tmpfs tmpfs rw
`

func TestAliases(t *testing.T) {
	table := tableOf(twoNames)
	for _, c := range []struct {
		path string
		want []string
	}{
		{"/home/u/.ssh", []string{"/data/home/u/.ssh"}},
		{"/data/home/u/.ssh", []string{"/home/u/.ssh"}},
		{"/etc/shadow", []string{"/mnt/the root/etc/shadow"}},
		{"/mnt/the root/etc/shadow", []string{"/etc/shadow"}},
		{"/opt/itself/key", []string{"/mnt/the root/opt/itself/key"}},
		{"/home/u/.docker", []string{"/data/home/u/.docker", "/srv/certs"}},
		{"/home/u/.config/chromium*", []string{"/data/home/u/.config/chromium*", "/srv/profile"}},
		{"/home/u/.config/chrome*", []string{"/data/home/u/.config/chrome*"}},
		{"/srv/certs", []string{"/data/home/u/.docker/certs", "/home/u/.docker/certs"}},
		{"/over/home/u/.ssh", nil},
		{"/proc/kcore", nil},
	} {
		if got := table.aliases([]string{c.path}); !slices.Equal(got, c.want) {
			t.Errorf("aliases(%s) = %q, want %q", c.path, got, c.want)
		}
	}
	if got := table.aliases([]string{"/home/u/.ssh", "/data/home/u/.ssh"}); got != nil {
		t.Errorf("two names of each other have more names: %q", got)
	}
	if once := tableOf("21 1 8:1 / / rw - ext4 a rw\n22 21 8:1 /x /x rw - ext4 a rw\n"); once.twice != nil {
		t.Errorf("a directory mounted on itself counts as mounted twice: %v", once.twice)
	}
}
