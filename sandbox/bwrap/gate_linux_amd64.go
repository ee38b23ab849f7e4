package bwrap

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox/egress"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// serve lets a child of ours enter the network of process 1, make the sockets of
// the proxy there and send them to it, and waits until the proxy serves.
func (r *run) serve(pid int) error {
	net, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return fmt.Errorf("open the command's network: %w", err)
	}
	defer net.Close()
	owner, err := unix.IoctlRetInt(int(net.Fd()), unix.NS_GET_USERNS)
	if err != nil {
		return fmt.Errorf("find the owner of the command's network: %w", err)
	}
	defer unix.Close(owner)
	pipes, err := spawn.NewPipes(0)
	if err != nil {
		return err
	}
	defer pipes.Close()
	p := spawn.NewPlan()
	p.DieWithParent()
	p.ParentLives(pipes)
	p.Call("enter the user namespace of the network", unix.SYS_SETNS, []uintptr{uintptr(owner), unix.CLONE_NEWUSER})
	p.Call("enter the command's network", unix.SYS_SETNS, []uintptr{net.Fd(), unix.CLONE_NEWNET})
	egress.SecondAddress(p)
	egress.SendListener(p, r.gate.Child, egress.BindNames(p))
	p.Call("end", unix.SYS_EXIT_GROUP, []uintptr{0})
	child, err := p.Start(0, pipes)
	if err != nil {
		return stepError(err)
	}
	for {
		if _, err := unix.Wait4(child, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	r.gate.CloseChild()
	return r.gate.Ready()
}
