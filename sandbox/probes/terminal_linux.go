//go:build amd64 || arm64

package probes

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// terminal is one of the user's, outside.
type terminal struct {
	name   string
	slave  int
	master *os.File
	mu     sync.Mutex
	text   []byte
	done   sync.WaitGroup
}

func openTerminal() (*terminal, error) {
	master, slave, err := newPTY()
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(master, true); err != nil {
		return nil, err
	}
	t := &terminal{name: "/dev/pts/" + strconv.Itoa(n), slave: slave, master: os.NewFile(uintptr(master), "terminal")}
	t.done.Go(t.read)
	return t, nil
}

// read keeps all that the terminal shows; what is typed is echoed.
func (t *terminal) read() {
	buffer := make([]byte, 256)
	for {
		n, err := t.master.Read(buffer)
		t.mu.Lock()
		t.text = append(t.text, buffer[:n]...)
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (t *terminal) seen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

func (t *terminal) close() {
	_ = unix.Close(t.slave)
	_ = t.master.Close()
	t.done.Wait()
}
