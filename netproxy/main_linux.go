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
	// What the caller's proxy wants to know must not be read from our memory.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
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
		if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || kind != unix.AF_UNIX {
			return nil, nil, errors.New("not a unix socket")
		}
		unix.CloseOnExec(fd)
		files[i] = os.NewFile(uintptr(fd), "socket")
	}
	return files[0], files[1], nil
}

// receive reads the setup and takes over the listener and, if there is one, the
// socket on which names are asked for.
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
	listener, err := receiveSocket(listen, net.FileListener)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	questions, err := receiveSocket(listen, net.FilePacketConn)
	if err != nil && !errors.Is(err, egress.ErrNoListener) {
		return nil, nil, nil, nil, err
	}
	return New(Config{Policy: policy, Upstream: http.ProxyFromEnvironment}), listener, questions, in, nil
}

// takeUpstream puts the caller's proxies where the library looks for them. The
// environment that others can see of this process stays what it was at the start.
func takeUpstream(up sandbox.Upstream) {
	for _, v := range [...]struct{ name, value string }{{"HTTP_PROXY", up.HTTP}, {"HTTPS_PROXY", up.HTTPS}, {"NO_PROXY", up.NoProxy}} {
		_ = os.Setenv(v.name, v.value)
	}
}

// receiveSocket waits for a message of the sandbox with one socket, which
// belongs to the network in which it was made, wherever it is used.
func receiveSocket[T any](from *os.File, open func(*os.File) (T, error)) (socket T, err error) {
	var text [8]byte
	control := make([]byte, unix.CmsgSpace(4))
	n, cn, _, _, err := unix.Recvmsg(int(from.Fd()), text[:], control, unix.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return socket, fmt.Errorf("receive socket: %w", err)
	case n == 0:
		return socket, egress.ErrNoListener
	}
	messages, err := unix.ParseSocketControlMessage(control[:cn])
	if err != nil || len(messages) != 1 {
		return socket, errors.New("receive socket: the message holds none")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return socket, errors.New("receive socket: the message holds none")
	}
	file := os.NewFile(uintptr(fds[0]), "socket")
	defer file.Close()
	if socket, err = open(file); err != nil {
		return socket, fmt.Errorf("receive socket: %w", err)
	}
	return socket, nil
}
