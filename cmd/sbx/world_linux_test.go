package main

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newWorld(t *testing.T, dir string) *world {
	w := &world{t: t, do: make(chan func())}
	began := make(chan int)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			began <- 0
			return
		}
		began <- unix.Gettid()
		for f := range w.do {
			f()
		}
	}()
	tid := <-began
	if tid == 0 {
		t.Fatal("no network namespace")
	}
	t.Cleanup(func() { close(w.do) })
	mustRun(t, "ip", "link", "set", "lo", "up")
	mustRun(t, "ip", "link", "add", "home", "type", "veth", "peer", "name", "away")
	mustRun(t, "ip", "link", "set", "away", "netns", fmt.Sprint(tid))
	mustRun(t, "ip", "address", "add", hostAddr+"/24", "dev", "home")
	mustRun(t, "ip", "link", "set", "home", "up")
	mustRun(t, "ip", "route", "add", "default", "via", worldAddr)
	mustRun(t, "ip", "address", "add", hostAddr6+"/64", "dev", "home", "nodad")
	mustRun(t, "ip", "-6", "route", "add", "default", "via", worldAddr6)
	w.in(func() {
		mustRun(t, "ip", "link", "set", "lo", "up")
		mustRun(t, "ip", "address", "add", worldAddr+"/24", "dev", "away")
		mustRun(t, "ip", "link", "set", "away", "up")
		for _, a := range []string{webAddr, evilAddr, nameAddr, metaAddr, innerAddr} {
			mustRun(t, "ip", "address", "add", a+"/32", "dev", "lo")
		}
		mustRun(t, "ip", "route", "add", "blackhole", holeNet)
		mustRun(t, "ip", "address", "add", worldAddr6+"/64", "dev", "away", "nodad")
		for _, a := range []string{webAddr6, evilAddr6, innerAddr6} {
			mustRun(t, "ip", "address", "add", a+"/128", "dev", "lo", "nodad")
		}
	})
	return w
}

// in runs something in the namespace of the world and waits.
func (w *world) in(f func()) {
	done := make(chan struct{})
	w.do <- func() { defer close(done); f() }
	<-done
}

func (w *world) listen(address string) net.Listener {
	var l net.Listener
	var err error
	w.in(func() { l, err = net.Listen("tcp", address) })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	return l
}

// canary answers every connection and writes it down.
func (w *world) canary(name string, l net.Listener) {
	s := &http.Server{
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "canary "+name) }),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				w.mu.Lock()
				w.visits = append(w.visits, name)
				w.mu.Unlock()
			}
		},
	}
	go func() { _ = s.Serve(l) }()
}

// taken gives what the canaries and the name server have seen, and forgets it.
func (w *world) taken() (visits, lookups []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	visits, lookups = w.visits, w.lookups
	w.visits, w.lookups = nil, nil
	return visits, lookups
}

func (w *world) serve(dir string) {
	w.git = filepath.Join(dir, "git")
	site := w.site(dir)
	go func() { _ = http.Serve(w.listen(webAddr+":80"), site) }()
	go func() { _ = http.Serve(w.listen("["+webAddr6+"]:80"), site) }()
	tls := httptest.NewUnstartedServer(site)
	tls.Listener.Close()
	tls.Listener = w.listen(webAddr + ":443")
	tls.StartTLS()
	w.t.Cleanup(tls.Close)
	w.ca = filepath.Join(dir, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})
	if err := os.WriteFile(w.ca, text, 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.canary("web:8443", w.listen(webAddr+":8443"))
	w.canary("evil", w.listen(evilAddr+":80"))
	w.canary("evil:443", w.listen(evilAddr+":443"))
	w.canary("evil6", w.listen("["+evilAddr6+"]:80"))
	w.canary("inner6", w.listen("["+innerAddr6+"]:80"))
	w.canary("meta", w.listen(metaAddr+":80"))
	w.canary("inner", w.listen(innerAddr+":80"))
	for _, address := range []string{"127.0.0.1:80", hostAddr + ":80", "[::1]:80"} { // of the host itself
		l, err := net.Listen("tcp", address)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { l.Close() })
		w.canary("host", l)
	}
	w.nameServer()
	w.secureShell(dir)
}

// secureShell is a real sshd with the repository.
func (w *world) secureShell(dir string) {
	program, err := exec.LookPath("sshd")
	if err != nil {
		program = "/usr/sbin/sshd"
	}
	if err := os.Mkdir("/run/sshd", 0o755); err == nil {
		w.t.Cleanup(func() { _ = os.Remove("/run/sshd") })
	}
	for _, key := range []string{"key", "hostkey"} {
		mustRun(w.t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key))
	}
	config := filepath.Join(dir, "sshd_config")
	text := "ListenAddress " + webAddr + ":22\nHostKey " + dir + "/hostkey\nAuthorizedKeysFile " + dir + "/key.pub\nStrictModes no\n" +
		"PermitRootLogin prohibit-password\nUsePAM no\nPidFile none\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(program, "-D", "-e", "-f", config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	w.in(func() { err = cmd.Start() })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// nameServer answers questions for addresses (RFC 1035).
func (w *world) nameServer() {
	var conn net.PacketConn
	var err error
	w.in(func() { conn, err = net.ListenPacket("udp4", nameAddr+":53") })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	book := names()
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			name, end := question(buf[:n])
			w.mu.Lock()
			w.lookups = append(w.lookups, name)
			w.mu.Unlock()
			if end == 0 {
				continue
			}
			reply := answer(buf[:end], net.ParseIP(book[strings.ToLower(name)]))
			if strings.HasPrefix(name, "slow.") { // longer than a call is held
				time.AfterFunc(300*time.Millisecond, func() { _, _ = conn.WriteTo(reply, from) })
				continue
			}
			_, _ = conn.WriteTo(reply, from)
		}
	}()
}

// answer is the reply to a question: the address of the name, if it is of the
// family that is asked for.
func answer(query []byte, a net.IP) []byte {
	reply := slices.Clone(query)
	reply[2], reply[3] = 0x84, 0 // an answer, authoritative
	copy(reply[6:12], make([]byte, 6))
	const typeA, typeAAAA = 1, 28
	kind := reply[len(reply)-3]
	if a == nil {
		reply[3] = 3 // no such name
		return reply
	}
	four := a.To4()
	if four != nil {
		a = four
	}
	if kind == typeA && four != nil || kind == typeAAAA && four == nil {
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 1, 0, byte(len(a)))
		reply = append(reply, a...)
	}
	return reply
}

// question reads the name of the first question and where it ends.
func question(b []byte) (string, int) {
	var labels []string
	at := 12
	for at < len(b) && b[at] != 0 {
		n := int(b[at])
		if at+1+n >= len(b) {
			return "", 0
		}
		labels = append(labels, string(b[at+1:at+1+n]))
		at += 1 + n
	}
	if at+5 > len(b) {
		return "", 0
	}
	return strings.Join(labels, "."), at + 5
}
