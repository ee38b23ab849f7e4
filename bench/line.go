//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// lines are what is measured: their speed, how much goes over each, and
// addresses that leave nowhere.
var lines = []struct {
	gbit  int
	bytes int64
	net   string
}{
	{1, 64 << 20, "10.55.1."},
	{10, 256 << 20, "10.55.2."},
}

// line compares transfers over a line of known speed, which is what a network
// mostly is: between a network namespace of its own and another.
func line(w io.Writer, o options) error {
	const title = "One connection over a line"
	if !o.guest {
		if os.Geteuid() != 0 {
			return notHere(w, title, errors.New("it takes root to make the line"))
		}
		dir := filepath.Join(filepath.Dir(o.dir), "line")
		if err := furnish(dir); err != nil {
			return err
		}
		guest := o
		guest.dir, guest.guest = dir, true
		cmd := exec.Command(o.helper("bench"), "-guest", dir, "-rounds", strconv.Itoa(o.rounds), "-only", "line")
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = guest.env(), guest.workspace(), w, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
		return cmd.Run()
	}
	if err := ipAndTC("ip link set lo up"); err != nil {
		return notHere(w, title, err)
	}
	for _, l := range lines {
		server, err := farBlaster(l.gbit, l.net)
		if err != nil {
			return notHere(w, title, err)
		}
		defer server.Close()
		title := fmt.Sprintf("%d MiB over a line of %d Gbit/s", l.bytes>>20, l.gbit)
		if err := o.overLine(w, title, server.Addr().String(), l.bytes); err != nil {
			return err
		}
	}
	return nil
}

func (o options) overLine(w io.Writer, title, at string, size int64) error {
	list := "allow:" + at
	clients, err := o.netClients([]netRow{
		{wayDirect, "on", at, "direct"},
		{wayConnect, list, at, "connect"},
		{waySOCKS, list, at, "socks"},
		{wayOwn, list, at, "direct"},
		{wayHTTP, "on", at, "get"},
		{wayPlain, list, at, "proxy"},
	})
	defer clients.close()
	if err != nil {
		return err
	}
	const most = 1 / 0.7
	return compare(w, title, max(3, o.rounds/20), clients.candidates("fetch", size), []bound{
		{of: wayConnect, by: wayDirect, atMost: most}, {of: wayOwn, by: wayDirect, atMost: most}, {of: wayPlain, by: wayHTTP, atMost: most},
	})
}

// farBlaster makes the line and a server at its other end. This process must be
// in a network namespace of its own.
func farBlaster(gbit int, net24 string) (server net.Listener, err error) {
	type made struct {
		l   net.Listener
		err error
	}
	here, there := net24+"1", net24+"2"
	home, away := fmt.Sprint("home", gbit), fmt.Sprint("away", gbit)
	thread, joined, result := make(chan int), make(chan error), make(chan made)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			thread <- 0
			return
		}
		thread <- syscall.Gettid()
		m := made{err: <-joined}
		if m.err == nil {
			m.err = ipAndTC("ip link set lo up", "ip address add "+there+"/24 dev "+away, "ip link set "+away+" up", shaped(away, gbit))
		}
		if m.err == nil {
			m.l, m.err = blaster(there)
		}
		result <- m
	}()
	tid := <-thread
	if tid == 0 {
		return nil, errors.New("no network namespace")
	}
	joined <- ipAndTC("ip link add "+home+" type veth peer name "+away, fmt.Sprintf("ip link set %s netns %d", away, tid),
		"ip address add "+here+"/24 dev "+home, "ip link set "+home+" up", shaped(home, gbit))
	m := <-result
	return m.l, m.err
}

// shaped limits what leaves by a device (tc-tbf).
func shaped(dev string, gbit int) string {
	return fmt.Sprintf("tc qdisc add dev %s root tbf rate %dgbit burst %dkb latency 20ms", dev, gbit, 256*gbit)
}

func ipAndTC(commands ...string) error {
	for _, c := range commands {
		argv := strings.Fields(c)
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
