//go:build amd64 || arm64

package spawn

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Pipes connect a child with its parent. All ends close on exec; the numbers
// are those of the child, in whose table they are the same until Start returns.
type Pipes struct {
	Errors   int // the child writes: the step that failed
	Lifeline int // the child and pid 1 read: the end of it is the end of the parent
	Status   int // pid 1 writes: how the command ended
	Go       int // the child reads: AfterClone is done

	errors, lifeline, status, begin int // the parent's ends
}

// Uses of pipes that not every plan has.
const (
	WithInit    = 1 << iota // Lifeline and Status, for ParentLives and ExecInit
	WithRelease             // Go, for AwaitRelease
)

// NewPipes makes the pipes that a plan with these uses needs.
func NewPipes(uses int) (*Pipes, error) {
	p := &Pipes{-1, -1, -1, -1, -1, -1, -1, -1}
	wanted := [][2]*int{{&p.errors, &p.Errors}}
	if uses&WithInit != 0 {
		wanted = append(wanted, [2]*int{&p.Lifeline, &p.lifeline}, [2]*int{&p.status, &p.Status})
	}
	if uses&WithRelease != 0 {
		wanted = append(wanted, [2]*int{&p.Go, &p.begin})
	}
	for _, ends := range wanted {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			p.Close()
			return nil, fmt.Errorf("make pipe: %w", err)
		}
		*ends[0], *ends[1] = fds[0], fds[1]
	}
	return p, nil
}

// Release lets the child go on that waits with AwaitRelease.
func (p *Pipes) Release() error {
	_, err := unix.Write(p.begin, []byte{0})
	return err
}

// Refuse ends the child that waits with AwaitRelease.
func (p *Pipes) Refuse() { closeAll(&p.begin) }

// Ready waits for a pid 1 that another program executes. False: that ended
// before. Pid 1 goes on after Release.
func (p *Pipes) Ready() bool {
	var b [8]byte
	n, err := readFull(p.status, b[:])
	return err == nil && n == len(b)
}

// ParentEnds lists the parent's ends, whose copies the child closes first.
func (p *Pipes) ParentEnds() []int {
	if p.begin < 0 {
		return []int{p.lifeline}
	}
	return []int{p.lifeline, p.begin}
}

// started closes the child's ends: it has its own copies, or there is none.
func (p *Pipes) started() { closeAll(&p.Errors, &p.Lifeline, &p.Status, &p.Go) }

// Close gives back what is open. The child loses its lifeline.
func (p *Pipes) Close() {
	closeAll(&p.Errors, &p.Lifeline, &p.Status, &p.Go, &p.errors, &p.lifeline, &p.status, &p.begin)
}

func closeAll(fds ...*int) {
	for _, fd := range fds {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}

// Ending is what pid 1 says when the command has ended.
type Ending struct {
	Status       unix.WaitStatus // of the command
	User, System time.Duration   // of all that was waited for
	PeakBytes    int64           // of the largest of them
}

// ending is the message of pid 1.
type ending struct {
	status uint64
	usage  unix.Rusage
}

// Ending reads what pid 1 said; false when it was killed before it could. Call
// it when pid 1 has ended.
func (p *Pipes) Ending() (Ending, bool) {
	var e ending
	b := (*[unsafe.Sizeof(e)]byte)(unsafe.Pointer(&e))[:]
	if n, err := readFull(p.status, b); err != nil || n != len(b) {
		return Ending{}, false
	}
	return Ending{
		Status: unix.WaitStatus(e.status), PeakBytes: int64(e.usage.Maxrss) << 10,
		User: time.Duration(e.usage.Utime.Nano()), System: time.Duration(e.usage.Stime.Nano()),
	}, true
}
