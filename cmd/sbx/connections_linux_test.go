package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestConnections is about programs that know no proxy: sockets that do not block,
// and IPv6.
func TestConnections(t *testing.T) {
	inInternet(t, "TestConnections", func(t *testing.T, h *host) {
		t.Run("waiting", func(t *testing.T) { h.t = t; h.waiting() })
		t.Run("six", func(t *testing.T) { h.t = t; h.six() })
	})
}

func (h *host) put(name, text string) {
	h.t.Helper()
	name = filepath.Join(h.ws(), name)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chown(name, int(h.id), int(h.id)); err != nil {
		h.t.Fatal(err)
	}
}

// program builds a program in Go, outside: in there it would take a while.
func (h *host) program(name, text string) {
	h.t.Helper()
	dir := h.t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(h.ws(), name), source)
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GO111MODULE=off", "GOTOOLCHAIN=local")
	if out, err := build.CombinedOutput(); err != nil {
		h.t.Fatalf("%v\n%s", err, out)
	}
}

// waiting: a socket that does not block is in progress until its host answers, and
// nothing else waits for it. slow.test answers later than a call is ever held.
func (h *host) waiting() {
	h.scripts()
	for name, text := range map[string]string{"wait.py": wait, "many.py": manyPython, "many.js": manyNode, "Many.java": manyJava} {
		h.put(name, text)
	}
	h.program("many", manyGo)
	const list = "allow:www.test:*,slow.test:*," + holeNet + ":*"
	for _, c := range []struct{ name, text, want string }{
		{"one is good while a hundred wait", `python3 wait.py order`, "good while 100 wait"},
		{"in progress", `python3 wait.py progress`, "EINPROGRESS [] EALREADY"},
		{"established", `python3 wait.py established`, "EINPROGRESS 0 hello ('127.0.0.1', 61281)"},
		{"of IPv6", `python3 wait.py six`, "EINPROGRESS 0 hello"},
		{"refused at once", `python3 wait.py refused www.test`, "ECONNREFUSED"},
		{"refused late", `python3 wait.py refused slow.test`, "EINPROGRESS ECONNRESET"},
		{"not listed", `python3 wait.py refused ` + evilAddr, "EACCES"},
		{"known to epoll before", `python3 wait.py epoll`, "hello"},
		{"given up", `python3 wait.py closed`, "closed"},
		{"given up and used again", `python3 wait.py reused`, "hello"},
		{"asyncio", `python3 many.py`, "100 times hello"},
		{"curl", `curl --noproxy '*' -Z --parallel-max 60 -sS 'http://slow.test/[1-60]' | grep -c hello`, "60\n"},
		{"node", `node many.js`, "100 times hello"},
		{"go", `./many`, "100 times hello"},
		{"java", `env -u JAVA_TOOL_OPTIONS java -XX:TieredStopAtLevel=1 Many.java`, "40 times hello"},
	} {
		if out, _ := h.confined(list, c.text); !strings.Contains(out, c.want) {
			h.t.Errorf("%s: want %q\n%s", c.name, c.want, out)
		}
	}
}

// six reaches hosts that have an address of IPv6 alone, and no others.
func (h *host) six() {
	h.scripts()
	for _, c := range []struct{ name, network, text, want string }{
		{"curl", "allow:six.test", `curl -sS http://six.test/`, "hello"},
		{"curl, address", "allow:" + webAddr6, `curl -sS 'http://[` + webAddr6 + `]/'`, "hello"},
		{"tunnel", "allow:six.test", `curl -sSp http://six.test/`, "hello"},
		{"socks", "allow:" + webAddr6, `curl -sS -x socks5://127.0.0.1:61280 'http://[` + webAddr6 + `]/'`, "hello"},
		{"raw socket, address", "allow:[" + webAddr6 + "]:80", `python3 raw.py ` + webAddr6 + ` 80 six`, "hello"},
		{"raw socket, block", "allow:2606:2800:220:1::/64", `python3 raw.py ` + webAddr6 + ` 80 six`, "hello"},
		{"raw socket, name", "allow:six.test", `python3 raw.py six.test 80`, "hello"},
		{"raw socket, all public", "allow:*", `python3 raw.py ` + webAddr6 + ` 80 six`, "hello"},
		{"bash", "allow:" + webAddr6, `exec 3<>/dev/tcp/` + webAddr6 + `/80 && printf 'GET / HTTP/1.0\r\nHost: x\r\n\r\n' >&3 && cat <&3`, "hello"},
		{"refused", "allow:six.test", `curl -sS 'http://[` + evilAddr6 + `]/'`, "host not listed"},
		{"refused, name", "allow:six.test", `curl -sS http://evil6.test/`, "host not listed"},
		{"refused, raw", "allow:six.test", `python3 raw.py ` + evilAddr6 + ` 80 six`, "host not listed"},
		{"private", "allow:*", `python3 raw.py ` + innerAddr6 + ` 80 six`, "private address"},
		{"private, name", "allow:*", `python3 raw.py inside6.test 80`, "private address"},
		{"this host", "allow:*", `python3 raw.py ` + hostAddr6 + ` 80 six`, "this host"},
		{"its loopback", "allow:*", `curl --noproxy '' -sS 'http://[::1]/'`, "loopback address"},
		{"listed private", "allow:inside6.test,fd12::/16", `python3 raw.py inside6.test 80`, "canary inner6"},
	} {
		h.world.taken()
		out, _ := h.confined(c.network, c.text)
		visits, _ := h.world.taken()
		if !strings.Contains(out, c.want) || len(visits) > 0 != strings.HasPrefix(c.want, "canary") {
			h.t.Errorf("%s: want %q, visited %v\n%s", c.name, c.want, visits, out)
		}
	}
	for _, a := range []string{evilAddr6, innerAddr6} { // the control
		h.world.taken()
		out, err := h.command(nil, "curl", "-sS", "http://["+a+"]/")
		if visits, _ := h.world.taken(); err != nil || len(visits) == 0 {
			h.t.Errorf("control %s: %v, visited %v\n%s", a, err, visits, out)
		}
	}
}

// wait makes connections without blocking and says what the kernel does.
const wait = `
import errno, select, socket, sys, time
def start(host, port, family=socket.AF_INET):
    s = socket.socket(family)
    s.setblocking(False)
    code = s.connect_ex((host, port))
    return s, errno.errorcode.get(code, str(code))
def settle(s):
    select.select([], [s], [])
    code = s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    return errno.errorcode.get(code, str(code))
def talk(s):
    s.setblocking(True)
    s.sendall(b"GET / HTTP/1.0\r\nHost: www.test\r\n\r\n")
    got = b""
    while True:
        b = s.recv(65536)
        if not b: return got.decode().strip().split()[-1]
        got += b
slow = socket.gethostbyname("slow.test")
def how(what):
    if what == "order":
        poll, waiting = select.poll(), []
        for i in range(1, 101):
            s, code = start("203.0.113.%d" % i, 80)
            if code != "EINPROGRESS": return code
            poll.register(s, select.POLLIN | select.POLLOUT)
            waiting.append(s)
        good, code = start(slow, 80)
        if code != "EINPROGRESS" or settle(good) != "0" or talk(good) != "hello": return "the good one: " + code
        if poll.poll(0): return "somebody is ready"
        return "good while %d wait" % len(waiting)
    if what == "progress":
        s, code = start("203.0.113.7", 80)
        p = select.poll()
        p.register(s, select.POLLIN | select.POLLOUT)
        return " ".join([code, str(p.poll(100)), errno.errorcode.get(s.connect_ex(("203.0.113.7", 80)), "?")])
    if what == "established":
        s, code = start(slow, 80)
        error = settle(s)
        peer = s.getpeername()
        return " ".join([code, error, talk(s), str(peer)])
    if what == "six":
        s, code = start("::ffff:" + slow, 80, socket.AF_INET6)
        return " ".join([code, settle(s), talk(s)])
    if what == "refused":
        s, code = start(sys.argv[2], 1)
        return code if code != "EINPROGRESS" else code + " " + settle(s)
    if what == "epoll":
        s = socket.socket()
        s.setblocking(False)
        e = select.epoll()
        e.register(s, select.EPOLLOUT | select.EPOLLET)
        code = s.connect_ex((slow, 80))
        if code != errno.EINPROGRESS: return str(code)
        while True:
            for fd, event in e.poll():
                if event & select.EPOLLOUT and not event & select.EPOLLHUP: return talk(s)
    if what == "closed":
        for i in range(1, 20): start("203.0.113.%d" % i, 80)[0].close()
        return "closed"
    if what == "reused":
        s, code = start(slow, 1)
        disconnect(s)
        code = s.connect_ex((slow, 80))
        if settle(s) != "0": return "not connected"
        return talk(s)
def disconnect(s):
    import ctypes
    if ctypes.CDLL(None).connect(s.fileno(), b"\0" * 16, 16): raise OSError("disconnect")
print(how(sys.argv[1]))
`

const manyPython = `
import asyncio
async def one():
    r, w = await asyncio.open_connection("slow.test", 80)
    w.write(b"GET / HTTP/1.0\r\nHost: www.test\r\n\r\n")
    return b"hello" in await r.read()
async def all(): return sum(await asyncio.gather(*[one() for i in range(100)]))
print(asyncio.run(all()), "times hello")
`

const manyNode = `
const net = require("net")
let good = 0, left = 100
for (let i = 0; i < 100; i++) {
  const s = net.connect(80, "slow.test", () => s.write("GET / HTTP/1.0\r\nHost: www.test\r\n\r\n"))
  let text = ""
  s.on("data", d => text += d)
  s.on("error", e => console.log(e.code))
  s.on("close", () => { if (text.includes("hello")) good++; if (--left == 0) console.log(good + " times hello") })
}
`

const manyGo = `package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
)

func main() {
	var all sync.WaitGroup
	var good atomic.Int32
	for i := 0; i < 100; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			c, err := net.Dial("tcp", "slow.test:80")
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Fprint(c, "GET / HTTP/1.0\r\nHost: www.test\r\n\r\n")
			if text, _ := io.ReadAll(c); strings.Contains(string(text), "hello") {
				good.Add(1)
			}
		}()
	}
	all.Wait()
	fmt.Println(good.Load(), "times hello")
}
`

const manyJava = `
import java.net.URI;
import java.net.http.*;
import java.util.*;
import java.util.concurrent.*;
class Many {
  public static void main(String[] a) throws Exception {
    var client = HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).version(HttpClient.Version.HTTP_1_1).build();
    var all = new ArrayList<CompletableFuture<String>>();
    for (int i = 0; i < 40; i++)
      all.add(client.sendAsync(HttpRequest.newBuilder(URI.create("http://slow.test/")).build(), HttpResponse.BodyHandlers.ofString()).thenApply(HttpResponse::body));
    int good = 0;
    for (var one : all) if (one.get().contains("hello")) good++;
    System.out.println(good + " times hello");
  }
}
`
