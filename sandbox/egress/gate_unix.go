//go:build unix

package egress

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

const (
	// readyTime is how long sbx-proxy may take until it serves: a start of Go,
	// on a machine that has much else to do.
	readyTime = 20 * time.Second
	// reportTime is how long it may take to close its connections and tell.
	reportTime = 5 * time.Second
)

// Gate is a running sbx-proxy and the way to it.
type Gate struct {
	// Child is the end of a socket over which the sandbox sends its listener
	// (SendListener), closed by CloseChild once the sandbox has a copy; -1 where the
	// proxy has a listener of the host.
	Child int

	pid     int
	control *os.File
	lines   *bufio.Reader
}

// newGate speaks with a proxy that has been started.
func newGate(e *sandbox.Egress, pid, control, child int) (*Gate, error) {
	_ = unix.SetNonblock(control, true) // deadlines
	g := &Gate{Child: child, pid: pid, control: os.NewFile(uintptr(control), "sbx-proxy")}
	g.lines = bufio.NewReader(g.control)
	text, err := json.Marshal(Setup{Rules: e.Rules, Upstream: e.Upstream})
	if err == nil {
		_ = g.control.SetWriteDeadline(time.Now().Add(readyTime))
		_, err = g.control.Write(append(text, '\n'))
	}
	if err != nil {
		g.Kill()
		return nil, fmt.Errorf("tell %q its rules: %w", e.Proxy, err)
	}
	return g, nil
}

var errNoProxy = errors.New("no sbx-proxy is named")

// environment is what the proxy sees of the caller's: where root certificates
// lie, and how names are looked up.
func environment(environ []string) []string {
	var keep []string
	for _, kv := range environ {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "SSL_CERT_FILE", "SSL_CERT_DIR", "LOCALDOMAIN", "RES_OPTIONS":
			keep = append(keep, kv)
		}
	}
	return keep
}

// CloseChild gives our copy of Child back. Unless that is done the proxy never
// learns that the sandbox ended.
func (g *Gate) CloseChild() {
	if g.Child >= 0 {
		_ = unix.Close(g.Child)
		g.Child = -1
	}
}

// Ready waits until the proxy serves the listener of the sandbox.
func (g *Gate) Ready() error {
	m, err := g.read(readyTime)
	switch {
	case err != nil:
		return fmt.Errorf("wait for sbx-proxy: %w", err)
	case m.NoListener:
		return ErrNoListener
	case m.Error != "":
		return errors.New("sbx-proxy: " + m.Error)
	case !m.Ready:
		return errors.New("sbx-proxy: it speaks another language: is it of the same version as sbx?")
	}
	return nil
}

func (g *Gate) read(limit time.Duration) (Message, error) {
	var m Message
	_ = g.control.SetReadDeadline(time.Now().Add(limit))
	line, err := g.lines.ReadBytes('\n')
	if err != nil {
		if len(line) == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
			return m, errors.New("it ended")
		}
		return m, err
	}
	return m, json.Unmarshal(line, &m)
}

// Stop ends the proxy and its connections and gives its report. With an error
// the proxy broke before that.
func (g *Gate) Stop() (Report, error) {
	g.CloseChild()
	if raw, err := g.control.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
	m, err := g.read(reportTime)
	status := g.reap(err == nil)
	switch {
	case err != nil && status.Signaled() && !errors.Is(err, os.ErrDeadlineExceeded):
		return Report{}, fmt.Errorf("sbx-proxy was killed by signal %d", status.Signal())
	case err != nil:
		return Report{}, fmt.Errorf("sbx-proxy gave no report: %w", err)
	case m.Report == nil:
		return Report{}, errors.New("sbx-proxy: " + m.Error)
	}
	return *m.Report, nil
}

// Close is Stop, with the report in a result. nil is none.
func (g *Gate) Close(to *sandbox.Result) {
	if g == nil {
		return
	}
	report, err := g.Stop()
	if err != nil {
		to.NetworkError = fmt.Sprintf("the records of the network are not complete: %v", err)
		return
	}
	report.Fill(to)
}

// Kill ends the proxy of a sandbox that did not come to be. nil is none.
func (g *Gate) Kill() {
	if g == nil {
		return
	}
	g.CloseChild()
	g.reap(false)
}

// reap waits for the end of the proxy. One that has told its report ends by
// itself, and gets a moment for it.
func (g *Gate) reap(gently bool) unix.WaitStatus {
	_ = g.control.Close()
	var status unix.WaitStatus
	if gently {
		for until := time.Now().Add(reportTime); time.Now().Before(until); time.Sleep(200 * time.Microsecond) {
			if pid, err := unix.Wait4(g.pid, &status, unix.WNOHANG, nil); pid == g.pid || err != nil && err != unix.EINTR {
				return status
			}
		}
	} else if pid, err := unix.Wait4(g.pid, &status, unix.WNOHANG, nil); pid == g.pid && err == nil {
		return status
	}
	_ = unix.Kill(g.pid, unix.SIGKILL)
	for {
		if _, err := unix.Wait4(g.pid, &status, 0, nil); err != unix.EINTR {
			return status
		}
	}
}
