//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
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

// network compares connections of a confined command that go through sbx-proxy
// with those of one that has the host's network.
func network(w io.Writer, o options) error {
	server, err := blaster()
	if err != nil {
		return err
	}
	defer server.Close()
	at := server.Addr().String()
	var clients []*netClient
	defer func() {
		for _, c := range clients {
			c.close()
		}
	}()
	for _, c := range []struct{ name, network, way string }{
		{"network on", "on", "direct"},
		{"allow:, CONNECT", "allow:" + at, "connect"},
		{"allow:, SOCKS 5", "allow:" + at, "socks"},
	} {
		client, err := o.netClient(c.name, c.network, at, c.way)
		if err != nil {
			return err
		}
		clients = append(clients, client)
	}
	var connect, transfer []candidate
	for _, c := range clients {
		connect = append(connect, candidate{name: c.name, run: func() (time.Duration, error) { return c.ask("ping", pings) }})
		transfer = append(transfer, candidate{name: c.name, run: func() (time.Duration, error) { return c.ask("fetch", networkBytes) }})
	}
	if err := compare(w, "One new connection, one byte back", max(3, o.rounds/3), connect, nil); err != nil {
		return err
	}
	if err := compare(w, "256 MiB over one connection", max(3, o.rounds/10), transfer, []bound{{of: clients[1].name, by: clients[0].name, atMost: 1 / 0.7}}); err != nil {
		return err
	}
	return clients[1].memory(w)
}

// blaster sends as many bytes as the first line of a connection says.
func blaster() (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
				var n int64
				if _, err := fmt.Fscanln(c, &n); err != nil {
					return
				}
				for n > 0 {
					sent, err := c.Write(buffer[:min(n, int64(len(buffer)))])
					if err != nil {
						return
					}
					n -= int64(sent)
				}
			}()
		}
	}()
	return l, nil
}

// netClient is bench/netclient in a sandbox, which waits for orders.
type netClient struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func (o options) netClient(name, network, server, way string) (*netClient, error) {
	c := &netClient{name: name, cmd: exec.Command(o.sbx, "exec", "--workspace", o.workspace(), "--network", network, "--", o.helper("netclient"), server, way)}
	c.cmd.Env, c.cmd.Stderr = o.env(), os.Stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
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

func (c *netClient) close() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
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
