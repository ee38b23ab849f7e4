// Command netclient makes connections and says how long they took, as it is told
// on standard input: "ping COUNT" or "fetch BYTES", answered by nanoseconds. It runs
// in a sandbox, or outside. Its arguments are the server's address and the way
// there: direct, connect or socks; or get and proxy, which ask by HTTP, the latter
// the proxy.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// proxy is where a sandbox has its proxy.
const proxy = "127.0.0.1:61280"

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func run(server, way string) error {
	in := bufio.NewReader(os.Stdin)
	for {
		var what string
		var n int64
		if _, err := fmt.Fscanln(in, &what, &n); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		count, size := int64(1), n
		if what == "ping" {
			count, size = n, 1
		}
		began := time.Now()
		for range count {
			if err := fetch(server, way, size); err != nil {
				return err
			}
		}
		fmt.Println(time.Since(began).Nanoseconds() / count)
	}
}

// fetch asks for a number of bytes over a new connection.
func fetch(server, way string, size int64) error {
	c, err := dial(server, way)
	if err != nil {
		return err
	}
	defer c.Close()
	r := bufio.NewReader(c)
	if err := request(c, r, server, way, size); err != nil {
		return err
	}
	buffer := make([]byte, 256<<10)
	got := int64(0)
	for got < size {
		n, err := r.Read(buffer)
		got += int64(n)
		if err != nil {
			return fmt.Errorf("%d of %d bytes: %w", got, size, err)
		}
	}
	return nil
}

// request asks the server, by way of what was dialled.
func request(c net.Conn, r *bufio.Reader, server, way string, size int64) error {
	switch way {
	case "get", "proxy":
		target := fmt.Sprintf("/%d", size)
		if way == "proxy" {
			target = "http://" + server + target
		}
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, server)
		return head(r)
	case "connect":
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", server, server)
		if err := head(r); err != nil {
			return err
		}
	case "socks":
		if err := socks(c, r, server); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c, "%d\n", size)
	return err
}

// head reads the head of an answer that is to be 200.
func head(r *bufio.Reader) error {
	for first := true; ; first = false {
		line, err := r.ReadString('\n')
		if err != nil || first && !strings.Contains(line, " 200 ") {
			return fmt.Errorf("%q: %w", line, err)
		}
		if line == "\r\n" {
			return nil
		}
	}
}

func socks(c net.Conn, r io.Reader, server string) error {
	host, port, _ := net.SplitHostPort(server)
	request := append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(host))}, host...)
	var number uint16
	if _, err := fmt.Sscan(port, &number); err != nil {
		return err
	}
	if _, err := c.Write(append(request, byte(number>>8), byte(number))); err != nil {
		return err
	}
	var answer [12]byte
	if _, err := io.ReadFull(r, answer[:]); err != nil || answer[3] != 0 {
		return fmt.Errorf("answer %v: %w", answer, err)
	}
	return nil
}

func dial(server, way string) (net.Conn, error) {
	if way != "direct" && way != "get" {
		server = proxy
	}
	return net.Dial("tcp", server)
}
