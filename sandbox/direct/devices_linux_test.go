package direct_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTerminalInput(t *testing.T) { eachTier(t, testTerminalInput) }

func testTerminalInput(r *room) {
	t := r.T
	master, name := terminal(t)
	defer unix.Close(master)
	if r.isFull() { // terminals outside are not to be seen
		if got := r.do(r.confined(), "open-write", name); got != "ENOENT" {
			t.Errorf("open a terminal outside: %s", got)
		}
		name = "/dev/ptmx"
	}
	for _, act := range []string{"tiocsti", "tiocsti-high", "tioclinux", "tioclinux-high"} {
		// Without a controlling terminal only root gets as far as the filter.
		if got := r.do(r.unconfined(), act, name); os.Geteuid() == 0 && got == "EPERM" {
			t.Fatalf("control: %s: %s", act, got)
		}
		if got := r.do(r.confined(), act, name); got != "EPERM" {
			t.Errorf("%s: %s", act, got)
		}
	}
}

// terminal opens a pseudo terminal; the name is that of its other end.
func terminal(t *testing.T) (int, string) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	check(t, err)
	check(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	check(t, err)
	return fd, "/dev/pts/" + strconv.Itoa(n)
}

func TestDevices(t *testing.T) { eachTier(t, testDevices) }

func testDevices(r *room) {
	t := r.T
	shut := r.confined()
	if got := r.do(shut, "mknod-null", r.workspace+"/null"); got != "EPERM" {
		t.Errorf("make a device node: %s", got)
	}
	if os.Geteuid() != 0 {
		return
	}
	open := r.unconfined()
	if got := r.do(open, "mknod-null", r.workspace+"/null"); got != "ok" {
		t.Fatalf("control: make a device node: %s", got)
	}
	tried := 0
	nodes, _ := filepath.Glob("/dev/*")
	for _, node := range nodes {
		var st unix.Stat_t
		if unix.Stat(node, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK && node != "/dev/kmsg" && node != "/dev/mem" {
			continue
		}
		if r.do(open, "read", node) != "ok" {
			continue
		}
		tried++
		if got := r.do(shut, "read", node); !oneOf("EACCES|ENOENT", got) {
			t.Errorf("read %s: %s", node, got)
		}
		if got := r.do(shut, "open-write", node); !oneOf("EACCES|ENOENT", got) {
			t.Errorf("write %s: %s", node, got)
		}
		if tried == 4 {
			break
		}
	}
	if tried == 0 {
		t.Log("no device here that root can read")
	}
	for _, name := range []string{"/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/self/oom_score_adj"} {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		if got := r.do(shut, "open-write", name); got != r.readOnlyErrno() {
			t.Errorf("write %s: %s", name, got)
		}
	}
}
