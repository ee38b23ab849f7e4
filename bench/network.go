//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// pings is the number of connections that one figure is the mean of.
	pings = 50
	// networkBytes is the length of one transfer; $NETWORK_BYTES makes the one
	// that memory is measured over longer.
	networkBytes = 256 << 20
)

// ways are the names of the rows.
const (
	wayDirect  = "network on"
	wayRelay   = "network on, by way of a bare relay in C"
	wayConnect = "allow:, CONNECT"
	waySOCKS   = "allow:, SOCKS 5"
	wayOwn     = "allow:, a program that knows no proxy"
	wayHTTP    = "network on, HTTP"
	wayPlain   = "allow:, HTTP by the proxy"
)

// network compares connections of a confined command that go through sbx-proxy
// with those of one that has the host's network. The server is an address of
// this host, so that three processes share the processors where there are two
// without a proxy; what that alone costs is the row of the relay.
func network(w io.Writer, o options) error {
	server, err := blaster(ownAddress())
	if err != nil {
		return err
	}
	defer server.Close()
	at := server.Addr().String()
	rows := []netRow{{wayDirect, "on", at, "direct"}}
	relay, port, err := o.relay(at)
	if err != nil {
		fmt.Fprintf(w, "\nA bare relay: not measured here: %v\n", err)
	} else {
		defer relay()
		rows = append(rows, netRow{wayRelay, "on", "127.0.0.1:" + port, "direct"})
	}
	list := "allow:" + at
	rows = append(rows, netRow{wayConnect, list, at, "connect"}, netRow{waySOCKS, list, at, "socks"})
	if !server.Addr().(*net.TCPAddr).IP.IsLoopback() { // that one is the command's own
		rows = append(rows, netRow{wayOwn, list, at, "direct"})
	}
	rows = append(rows, netRow{wayHTTP, "on", at, "get"}, netRow{wayPlain, list, at, "proxy"})
	clients, err := o.netClients(rows)
	defer clients.close()
	if err != nil {
		return err
	}
	if err := compare(w, "One new connection, one byte back", max(3, o.rounds/3), clients.candidates("ping", pings), nil); err != nil {
		return err
	}
	const most = 1 / 0.7
	if err := compare(w, "256 MiB over one connection", max(3, o.rounds/10), clients.candidates("fetch", networkBytes), []bound{
		{of: wayConnect, by: wayDirect, atMost: most},
		{of: wayOwn, by: wayDirect, atMost: most},
		{of: wayPlain, by: wayHTTP, atMost: most},
		{of: wayRelay, by: wayDirect},
		{of: wayConnect, by: wayRelay},
	}); err != nil {
		return err
	}
	return clients.named(wayConnect).memory(w)
}

// ownAddress is one of this host's that a sandbox would not take for its own.
func ownAddress() string {
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// relay starts bench/floor/relay.c on the way to a server.
func (o options) relay(to string) (stop func(), port string, err error) {
	if _, err := os.Stat(o.helper("relay")); err != nil {
		return nil, "", errNoCompiler
	}
	host, number, err := net.SplitHostPort(to)
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(o.helper("relay"), host, number)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, "", err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if port, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		stop()
		return nil, "", fmt.Errorf("relay: %w", err)
	}
	return stop, strings.TrimSpace(port), nil
}

// blaster sends as many bytes as the first line of a connection says: a number,
// or a request for one by HTTP.
func blaster(host string) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	go func() {
		buffer := make([]byte, 1<<20)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				n, err := asked(c)
				for n > 0 && err == nil {
					var sent int
					sent, err = c.Write(buffer[:min(n, int64(len(buffer)))])
					n -= int64(sent)
				}
			}()
		}
	}()
	return l, nil
}

// asked reads how many bytes are wanted, and sends the head of an HTTP answer.
func asked(c net.Conn) (n int64, err error) {
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	rest, http := strings.CutPrefix(line, "GET /")
	if _, err := fmt.Sscan(rest, &n); err != nil || !http {
		return n, err
	}
	for strings.TrimSpace(line) != "" && err == nil {
		line, err = r.ReadString('\n')
	}
	if err == nil {
		_, err = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n", n)
	}
	return n, err
}

// netRow is one way from a command to the server.
type netRow struct{ name, network, at, how string }

// netClient is bench/netclient in a sandbox, which waits for orders.
type netClient struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

type netClients []*netClient

// netClients starts one for each row. Those that were started are returned with
// an error, too.
func (o options) netClients(rows []netRow) (all netClients, err error) {
	for _, row := range rows {
		c := &netClient{name: row.name, cmd: exec.Command(o.sbx, "exec", "--workspace", o.workspace(), "--network", row.network, "--", o.helper("netclient"), row.at, row.how)}
		c.cmd.Env, c.cmd.Stderr = o.env(), os.Stderr
		if c.in, err = c.cmd.StdinPipe(); err != nil {
			return all, err
		}
		out, err := c.cmd.StdoutPipe()
		if err != nil {
			return all, err
		}
		c.out = bufio.NewReader(out)
		if err := c.cmd.Start(); err != nil {
			return all, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (all netClients) candidates(what string, n int64) (list []candidate) {
	for _, c := range all {
		list = append(list, candidate{name: c.name, run: func() (time.Duration, error) { return c.ask(what, n) }})
	}
	return list
}

func (all netClients) named(name string) *netClient {
	return all[slices.IndexFunc(all, func(c *netClient) bool { return c.name == name })]
}

func (all netClients) close() {
	for _, c := range all {
		_ = c.in.Close()
		_ = c.cmd.Wait()
	}
}

// ask gives an order and reads the time it took.
func (c *netClient) ask(what string, n int64) (time.Duration, error) {
	if _, err := fmt.Fprintln(c.in, what, n); err != nil {
		return 0, err
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		return 0, err
	}
	took, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("netclient says %q", line)
	}
	return time.Duration(took), nil
}

// memory prints the peak resident size of sbx-proxy after a long transfer.
func (c *netClient) memory(w io.Writer) error {
	size := int64(networkBytes)
	if v := os.Getenv("NETWORK_BYTES"); v != "" {
		if _, err := fmt.Sscan(v, &size); err != nil {
			return fmt.Errorf("NETWORK_BYTES %q: %w", v, err)
		}
	}
	pid, err := proxyBelow(c.cmd.Process.Pid)
	if err != nil {
		return err
	}
	before, _ := peakOf(pid)
	took, err := c.ask("fetch", size)
	if err != nil {
		return err
	}
	after, _ := peakOf(pid)
	fmt.Fprintf(w, "\nPeak memory of sbx-proxy: %.1f MB before and %.1f MB after a transfer of %d MiB (%.0f MB/s)\n",
		float64(before)/1e6, float64(after)/1e6, size>>20, float64(size)/1e6/took.Seconds())
	return nil
}

// proxyBelow finds the sbx-proxy that a process has started.
func proxyBelow(parent int) (int, error) {
	out, err := exec.Command("pgrep", "-P", strconv.Itoa(parent), "-x", "sbx-proxy").Output()
	if err != nil {
		return 0, fmt.Errorf("no sbx-proxy below process %d: %w", parent, err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}
