//go:build unix

package netproxy

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/egress"
)

// Main is the program sbx-proxy; see package egress for what it is given.
func Main(args []string, _, errs io.Writer) int {
	control, listen, err := sockets(args)
	if err != nil {
		fmt.Fprintln(errs, "sbx: error: sbx-proxy is started by sbx for a command with --network allow:…, not by hand")
		return 2
	}
	hideMemory()
	say := json.NewEncoder(control)
	server, listener, questions, in, err := receive(control, listen)
	if err != nil {
		_ = say.Encode(egress.Message{Error: err.Error(), NoListener: errors.Is(err, egress.ErrNoListener)})
		return 1
	}
	if err := say.Encode(egress.Message{Ready: true}); err != nil {
		return 1
	}
	go func() { _ = server.Serve(listener) }()
	if questions != nil {
		go func() { _ = server.ServeNames(questions) }()
	}
	_, _ = io.Copy(io.Discard, in) // until the run ends, or who started us
	server.Close()
	report := server.Report()
	if err := say.Encode(egress.Message{Report: &report}); err != nil {
		return 1
	}
	return 0
}

// sockets opens the two descriptors that the arguments name.
func sockets(args []string) (control, listen *os.File, err error) {
	var files [2]*os.File
	if len(args) != len(files)+1 {
		return nil, nil, errors.New("want two descriptors")
	}
	for i, arg := range args[1:] {
		fd, err := strconv.Atoi(arg)
		if err != nil {
			return nil, nil, err
		}
		if !isSocket(fd, i == 1) {
			return nil, nil, errors.New("not a socket of sbx")
		}
		unix.CloseOnExec(fd)
		files[i] = os.NewFile(uintptr(fd), "socket")
	}
	return files[0], files[1], nil
}

// isSocket says whether a descriptor is a socket of the unix family, or a listener.
func isSocket(fd int, listens bool) bool {
	at, err := unix.Getsockname(fd)
	if err != nil {
		return false
	}
	if _, ok := at.(*unix.SockaddrUnix); ok {
		return true
	}
	return listens && isListener(fd)
}

// isListener says whether a descriptor is a socket of TCP that has an address.
func isListener(fd int) bool {
	at, _ := unix.Getsockname(fd)
	ip, ok := at.(*unix.SockaddrInet4)
	return ok && ip.Port != 0
}

// receive reads the setup and takes over the listener and, if there is one, the
// socket on which names are asked for. A sandbox with a network of its own sends
// both; else the listener is there already.
func receive(control, listen *os.File) (*Server, net.Listener, net.PacketConn, *bufio.Reader, error) {
	in := bufio.NewReader(control)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, nil, nil, nil, fmt.Errorf("read setup: %w", err)
	}
	var setup egress.Setup
	if err := json.Unmarshal(line, &setup); err != nil {
		return nil, nil, nil, nil, fmt.Errorf("read setup: %w", err)
	}
	policy, err := netrules.ParseList(setup.Rules)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	takeUpstream(setup.Upstream)
	defer listen.Close()
	server := New(Config{Policy: policy, Upstream: http.ProxyFromEnvironment})
	if isListener(int(listen.Fd())) {
		listener, err := net.FileListener(listen)
		return server, listener, nil, in, err
	}
	listener, err := receiveSocket(listen, net.FileListener)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	questions, err := receiveSocket(listen, net.FilePacketConn)
	if err != nil && !errors.Is(err, egress.ErrNoListener) {
		return nil, nil, nil, nil, err
	}
	return server, listener, questions, in, nil
}

// takeUpstream puts the caller's proxies where the library looks for them. The
// environment that others can see of this process stays what it was at the start.
func takeUpstream(up sandbox.Upstream) {
	for _, v := range [...]struct{ name, value string }{{"HTTP_PROXY", up.HTTP}, {"HTTPS_PROXY", up.HTTPS}, {"NO_PROXY", up.NoProxy}} {
		_ = os.Setenv(v.name, v.value)
	}
}
