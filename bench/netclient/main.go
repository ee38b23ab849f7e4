// Command netclient makes connections and says how long they took, as it is told
// on standard input: "ping COUNT" or "fetch BYTES", answered by nanoseconds. It runs
// in a sandbox, or outside. Its arguments are the server's address and the way
// there: direct, connect or socks.
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
	c, r, err := dial(server, way)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fmt.Fprintf(c, "%d\n", size); err != nil {
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

func dial(server, way string) (net.Conn, io.Reader, error) {
	if way == "direct" {
		c, err := net.Dial("tcp", server)
		return c, c, err
	}
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		return nil, nil, err
	}
	if way == "connect" {
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", server, server)
		r := bufio.NewReader(c)
		for first := true; ; first = false {
			line, err := r.ReadString('\n')
			if err != nil || first && !strings.Contains(line, " 200 ") {
				return nil, nil, fmt.Errorf("%q: %w", line, err)
			}
			if line == "\r\n" {
				return c, r, nil
			}
		}
	}
	host, port, _ := net.SplitHostPort(server)
	request := append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(host))}, host...)
	var number uint16
	if _, err := fmt.Sscan(port, &number); err != nil {
		return nil, nil, err
	}
	if _, err := c.Write(append(request, byte(number>>8), byte(number))); err != nil {
		return nil, nil, err
	}
	var answer [12]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil || answer[3] != 0 {
		return nil, nil, fmt.Errorf("answer %v: %w", answer, err)
	}
	return c, c, nil
}
