package containerd

import (
	"net"
	"os"
	"strings"
	"testing"
)

// What nobody could serve is refused before the client tries for ten seconds.
func TestReachable(t *testing.T) {
	at := t.TempDir() + "/socket"
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	if rootless(at, os.Geteuid()) != (os.Geteuid() != 0) {
		t.Error("of this user")
	}
	if err := reachable(at, "a test"); (err == nil) != (os.Geteuid() == 0) {
		t.Errorf("control: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(at, 65533, 65533); err != nil {
		t.Fatal(err)
	}
	if !rootless(at, 65533) || rootless(at, 0) {
		t.Error("a socket of an ordinary user")
	}
	_ = l.Close()
	if err := reachable(at, "a test"); err == nil || !strings.Contains(err.Error(), "nobody listens at "+at+" (a test)") {
		t.Errorf("left: %v", err)
	}
}
