//go:build amd64 || arm64

package probes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// workActs are what programs do all day.
func workActs() []act {
	return []act{
		{"nothing", func(arguments) error { begun(); return nil }},
		{"socketpair", func(arguments) error {
			begun()
			_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			return err
		}},
		{"own-unix-server", ownUnixServer},
		{"own-tcp-server", ownTCPServer},
		{"memfd-exec", memfdExec},
		{"signal-child", signalChild},
		{"shared-file", func(arguments) error {
			begun()
			name := "/dev/shm/sbx-probe-own-" + strconv.Itoa(os.Getpid())
			defer os.Remove(name)
			return overwrite(name, unix.O_CREAT|unix.O_EXCL)
		}},
		{"daemon", daemon},
		{"ignore-term", func(a arguments) error {
			signal.Ignore(unix.SIGTERM)
			begun()
			return start(a.text(0), a.text(1), "plain", true)
		}},
		{"wait-child", func(a arguments) error { begun(); return start(a.text(0), a.text(1), "plain", true) }},
		{"exit", func(a arguments) error { begun(); os.Exit(a.number(0)); return nil }},
		{"raise", func(a arguments) error {
			begun()
			signal.Reset()
			err := unix.Kill(os.Getpid(), unix.Signal(a.number(0)))
			time.Sleep(time.Second) // it is on its way
			return err
		}},
		{"flood", func(a arguments) error {
			block := make([]byte, 1<<16)
			for range a.number(0) << 4 { // MiB on each stream
				if _, err := os.Stdout.Write(block); err != nil {
					return err
				}
				if _, err := os.Stderr.Write(block); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

func ownUnixServer(a arguments) error {
	begun()
	server, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	at := &unix.SockaddrUnix{Name: a.text(0)}
	if err := errors.Join(unix.Bind(server, at), unix.Listen(server, 1)); err != nil {
		return err
	}
	client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(client, at)
}

func ownTCPServer(arguments) error {
	begun()
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Bind(server, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(server, 1)); err != nil {
		return err
	}
	at, err := unix.Getsockname(server)
	if err != nil {
		return err
	}
	client, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return unix.Connect(client, at)
}

// memfdExec runs a program from memory.
func memfdExec(arguments) error {
	self, err := os.Executable()
	if err != nil {
		return setup("find own program", err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return setup("read own program", err)
	}
	begun()
	fd, err := unix.MemfdCreate("sbx-probe", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, program); err != nil {
		return err
	}
	c := exec.Command("/proc/self/fd/" + strconv.Itoa(fd))
	c.Args = append(helperPrefix(), modeAct, "nothing")
	return c.Run()
}

func signalChild(arguments) error {
	begun()
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		return err
	}
	if err := c.Process.Signal(unix.SIGTERM); err != nil {
		return err
	}
	err := c.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return fmt.Errorf("the child went on: %w", err)
}

// daemon starts processes that want to outlive the command.
func daemon(a arguments) error {
	begun()
	return start(a.text(0), a.text(1), a.text(2), false)
}

// start runs a lingering process under a mark, and returns when it says that
// it runs, or when it has ended.
func start(mark, saying, how string, wait bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append(helperPrefix(), modeLinger, mark, saying)
	c := exec.Command(self, args[1:]...)
	c.Args = args
	c.SysProcAttr = &unix.SysProcAttr{}
	switch how {
	case "group":
		c.SysProcAttr.Setpgid = true
	case "session":
		c.SysProcAttr.Setsid = true
	case "twice": // by way of a parent that ends first
		c.Args = append(helperPrefix(), modeAct, "daemon", mark, saying, "session")
		c.Path = self
		c.SysProcAttr.Setsid = true
		return c.Run()
	case "open": // holds the output open
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr.Setsid = true
	}
	if err := c.Start(); err != nil {
		return err
	}
	if !await(func() bool { _, err := os.Stat(saying); return err == nil }) {
		return errors.New("the process did not start")
	}
	if wait {
		return c.Wait()
	}
	return nil
}
