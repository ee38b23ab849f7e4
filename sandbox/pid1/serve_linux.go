//go:build amd64 || arm64

package pid1

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// service is a first process that runs many commands, each under a process of
// its own that ends what its command leaves.
type service struct {
	Service
	listener *os.File

	mu   sync.Mutex
	live map[int]bool // processes that serve a connection
	used time.Time    // when the last one ended
	born chan struct{}
}

// serve gets the listening socket over the first connection, which nothing in
// the container can reach by name.
func serve(c *Conn) error {
	m, files, err := c.receive()
	if err != nil {
		return err
	}
	if m.Service == nil || len(files) != 1 {
		closeFiles(files)
		return errors.New("take service: it is not complete")
	}
	if err := unix.SetNonblock(int(files[0].Fd()), true); err != nil {
		return err
	}
	s := &service{Service: *m.Service, live: map[int]bool{}, used: time.Now(), born: make(chan struct{}, 1)}
	// The descriptor was wrapped as a blocking one; Accept must be interruptible.
	fd, err := unix.FcntlInt(files[0].Fd(), unix.F_DUPFD_CLOEXEC, 0)
	closeFiles(files)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return err
	}
	s.listener = os.NewFile(uintptr(fd), "sbx listener")
	if err := c.send(message{Ready: true}); err != nil {
		return err
	}
	done := make(chan struct{})
	if s.Hold {
		go func() {
			defer close(done)
			_, _, _ = c.receive()
		}()
	} else {
		_ = c.Close()
	}
	go s.reap()
	go s.accept()
	s.wait(done)
	return nil // the end of the first process ends all others
}

// wait returns when the service is over.
func (s *service) wait(done <-chan struct{}) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-done:
			return
		case <-tick.C:
			s.mu.Lock()
			over := s.Idle > 0 && len(s.live) == 0 && time.Since(s.used) > s.Idle
			s.mu.Unlock()
			if over {
				return
			}
		}
	}
}

func (s *service) accept() {
	for {
		fd, err := accept(s.listener)
		if err != nil {
			time.Sleep(10 * time.Millisecond) // no descriptor or no memory: later there may be
			continue
		}
		s.start(fd)
		_ = unix.Close(fd)
	}
}

// start hands a connection to a process of its own. When there can be none, the
// connection ends, and the host sees that nothing ran.
func (s *service) start(conn int) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(null)
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(Program, []string{Program, modeExec}, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(conn)},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err == nil {
		s.live[pid] = true
		select {
		case s.born <- struct{}{}:
		default:
		}
	}
}

// reap waits for children. Those that serve no connection are what a serving
// process left that was killed: they end with it.
func (s *service) reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		if err == syscall.ECHILD {
			<-s.born
			continue
		}
		if err != nil {
			continue
		}
		s.mu.Lock()
		if s.live[pid] {
			delete(s.live, pid)
			s.used = time.Now()
		}
		for _, child := range childrenOf(os.Getpid()) {
			if !s.live[child] {
				_ = syscall.Kill(child, syscall.SIGKILL)
			}
		}
		s.mu.Unlock()
	}
}

// childrenOf reads /proc/PID/task/*/children.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	tasks, _ := os.ReadDir(dir)
	var pids []int
	for _, task := range tasks {
		text, err := os.ReadFile(dir + task.Name() + "/children")
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(field); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}
