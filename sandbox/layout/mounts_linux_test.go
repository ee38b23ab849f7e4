package layout

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// What is mounted later is noticed, and what was read once is not read again.
func TestMountsAreWatched(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount without a user namespace")
	}
	dir := t.TempDir()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread and its namespace end here
		before, err := os.Readlink("/proc/thread-self/ns/mnt")
		if err == nil {
			err = unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS)
		}
		now, nerr := os.Readlink("/proc/thread-self/ns/mnt")
		if err != nil || nerr != nil || before == now {
			t.Errorf("no mount namespace of its own: %v, %v, %s", err, nerr, now)
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Error(err)
			return
		}
		w := &mountWatch{name: "/proc/thread-self/mountinfo"}
		table, first := w.now()
		if _, there := table.at["/"]; !there || first == 0 {
			t.Errorf("table %d without a root: %v", first, table)
		}
		if _, again := w.now(); again != first || w.changed() {
			t.Errorf("tables %d and %d, though nothing was mounted", first, again)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			t.Error(err)
			return
		}
		table, second := w.now()
		if _, there := table.at[dir]; !there || second == first {
			t.Errorf("tables %d and %d, and %s is mounted", first, second, dir)
		}
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
		if table, third := w.now(); third == second || table.at[dir] != (mounted{}) {
			t.Errorf("tables %d and %d, and %s is mounted no more", second, third, dir)
		}
		_ = unix.Close(w.fd)
	}()
	<-done
}

// Mounts that give no new name to what is hidden change nothing.
func TestStampsOfMounts(t *testing.T) {
	table := tableOf(twoNames)
	s := &Stamps{hidden: []string{"/home/u/.ssh", "/data/home/u/.ssh"}}
	s.mounts.Store(1)
	for _, c := range []struct {
		more      string
		count     uint64
		unchanged bool
	}{
		{"", 1, true},
		{"40 21 0:77 / /var/lib/containers/x rw - overlay overlay rw\n", 2, true},
		{"40 21 8:2 /home/u/src /srv/src rw - ext4 /dev/sda2 rw\n", 3, true},
		{"40 21 8:2 /home/u /srv/u rw - ext4 /dev/sda2 rw\n", 4, false},
		{"40 21 8:2 /home/u /srv/u rw - ext4 /dev/sda2 rw\n", 4, false},
	} {
		if c.more != "" {
			table = tableOf(twoNames + c.more)
		}
		if got := s.sameNames(table, c.count); got != c.unchanged {
			t.Errorf("%q, table %d: unchanged %v", c.more, c.count, got)
		}
	}
}
