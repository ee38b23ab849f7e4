//go:build amd64 || arm64

package direct

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/notify"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/sandbox/spawn"
)

// watched lists the acts that a profile wants to hear of. The full tiers refuse
// more: changes of metadata, and connections from a network of their own.
func watched(p sandbox.Profile, full bool) notify.Acts {
	acts := notify.Of(notify.Write, notify.Truncate, notify.Create, notify.Delete, notify.DeleteDir, notify.Rename, notify.Link)
	if full {
		acts |= notify.Of(notify.Mode, notify.Owner, notify.Times)
	}
	if full && p.Network != sandbox.NetworkHost {
		acts |= notify.Of(notify.Connect)
	}
	if p.Explain >= sandbox.ExplainReads {
		acts |= notify.Of(notify.Read)
	}
	return acts
}

// listening holds what was found out about listeners; it belongs to the process.
var listening struct {
	sync.Mutex
	found bool
	flags uintptr
	err   error
}

// listener says with which flags a child gets a listener, or why not: a process
// has one, and a container's runtime or an outer sbx may have it. It is found
// out by trying. What can pass, a lack of processes for example, is not kept.
func listener() (flags uintptr, err error) {
	l := &listening
	l.Lock()
	defer l.Unlock()
	if l.found {
		return l.flags, l.err
	}
	for _, l.flags = range []uintptr{
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, // Linux 5.19: signals do not make a call come twice
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
	} {
		if l.err = tryListener(l.flags); !errors.Is(l.err, unix.EINVAL) {
			break
		}
	}
	l.found = l.err == nil || errors.Is(l.err, unix.EBUSY) || errors.Is(l.err, unix.EINVAL)
	return l.flags, l.err
}

func tryListener(flags uintptr) error {
	return tryChild(func(p *spawn.Plan) { planListener(p, 0, flags, p.Word(new(uint64))) })
}

func planListener(p *spawn.Plan, acts notify.Acts, flags uintptr, fd spawn.Ref) {
	code := notify.Filter(acts)
	prog := &syscall.SockFprog{Len: uint16(len(code)), Filter: unsafe.SliceData(code)}
	p.Call("load the filter that reports", unix.SYS_SECCOMP, []uintptr{unix.SECCOMP_SET_MODE_FILTER, flags, spawn.Ptr(p, prog)}, spawn.Store(fd))
}

// explainGap says why the denials of a profile cannot be recorded here; nil
// when they can, or nobody asked.
func explainGap(p sandbox.Profile, tier string, thread bool) *sandbox.Gap {
	g := &sandbox.Gap{Control: sandbox.DenialsExplained}
	switch {
	case p.Explain == sandbox.ExplainNone:
		return unasked(p)
	case thread:
		g.Why, g.Fix = whyNoChild, fixNoChild
		return g
	case tier == tierLandlock && !p.Supervisor:
		g.Why = "in this tier a process can outlive a library's run, and it could write nothing any more once nobody answers for it"
		g.Fix = "run by way of the sbx command; " + fixFull
		return g
	}
	_, err := listener()
	switch {
	case errors.Is(err, unix.EBUSY):
		g.Why = "another program listens to this process's system calls already, and the kernel allows one"
		g.Fix = "run sbx outside of the container or sandbox that does"
	case err != nil:
		g.Why = "the kernel gives no listener for system calls: " + err.Error()
	default:
		return nil
	}
	return g
}

// carryGap says why programs that ignore proxies are not led to the proxy; nil
// when they are, or there is none. Where rules cannot be held at all there is
// nothing to carry.
func carryGap(p sandbox.Profile, full bool) *sandbox.Gap {
	if p.Network != sandbox.NetworkRules {
		return nil
	}
	if !full {
		return &sandbox.Gap{Control: sandbox.AllCarried, Why: "this tier has no network of its own from which connections could be led to a proxy", Fix: fixFull}
	}
	flags, err := listener()
	switch {
	case err == nil && flags&unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV == 0:
		// A signal would make a call come again that is half done.
		return &sandbox.Gap{Control: sandbox.AllCarried, Why: "programs that ignore proxies reach nothing: this kernel lets go of a held call at every signal", Fix: "Linux 5.19 or newer"}
	case errors.Is(err, unix.EBUSY):
		return &sandbox.Gap{
			Control: sandbox.AllCarried, Why: "programs that ignore proxies reach nothing: another program listens to this process's system calls already, and the kernel allows one",
			Fix: "run sbx outside of the container or sandbox that does",
		}
	case err != nil:
		return &sandbox.Gap{
			Control: sandbox.AllCarried, Why: "programs that ignore proxies reach nothing: the kernel gives no listener for system calls: " + err.Error(),
			Fix: "Linux 5.6 or newer, and nothing that refuses seccomp(2)",
		}
	}
	return nil
}

// explainer hears of what one run is refused. A nil one does nothing.
type explainer struct {
	acts    notify.Acts
	records bool     // denials are recorded
	carrier *carrier // leads connections to the proxy; nil: there is none
	sockets [2]int   // ours, the child's
	watcher *notify.Watcher
	witness *witness
	log     sandbox.DenialLog
	unknown int // calls that could not be judged; the judge's until it has ended
}

func newExplainer(p sandbox.Profile, d decision, full bool) *explainer {
	x := &explainer{sockets: [2]int{-1, -1}}
	if p.Explain != sandbox.ExplainNone && !hasGap(d.gaps, sandbox.DenialsExplained) {
		x.acts, x.records = watched(p, full), true
	}
	if full && p.Network == sandbox.NetworkRules && !hasGap(d.gaps, sandbox.AllCarried) {
		x.acts, x.carrier = x.acts|notify.Of(notify.Connect), newCarrier()
	}
	if x.acts == 0 {
		return nil
	}
	return x
}

// open makes the way from the child to us.
func (x *explainer) open() (err error) {
	if x == nil {
		return nil
	}
	if x.sockets, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		x.sockets = [2]int{-1, -1}
		return fmt.Errorf("make socket pair: %w", err)
	}
	return nil
}

// planRoot hands over the root directory that the command sees, and what keeps
// its mounts until the last call is judged: they go with the last process.
func (x *explainer) planRoot(p *spawn.Plan) {
	if x == nil {
		return
	}
	for _, f := range []struct {
		name  string
		flags uintptr
	}{{mountNamespace, unix.O_RDONLY}, {"/", unix.O_PATH | unix.O_DIRECTORY}} {
		m := newRights()
		p.Call("open "+f.name+" for what reports", unix.SYS_OPENAT, []uintptr{spawn.Cwd, p.Str(f.name), f.flags | unix.O_CLOEXEC}, spawn.Store(p.Word(&m.fd)))
		planSend(p, "hand over "+f.name, x.sockets[1], m)
	}
}

// plan loads the filter and hands its listener over. The filter that refuses is
// loaded beside it and has the last word.
func (x *explainer) plan(p *spawn.Plan) {
	if x == nil {
		return
	}
	x.planMint(p)
	m := newRights()
	flags, _ := listener()
	planListener(p, x.acts, flags, p.Word(&m.fd))
	planSend(p, "hand over the listener", x.sockets[1], m)
}

// started takes over what the child sent, and begins to answer. A child that
// nobody would answer is ended.
func (x *explainer) started(p sandbox.Profile, pid int, rooted bool, book func() rulebook) error {
	if x == nil {
		return nil
	}
	err := x.begin(p, rooted, book())
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		for {
			if _, werr := unix.Wait4(pid, nil, 0, nil); werr != unix.EINTR {
				break
			}
		}
	}
	return err
}

func (x *explainer) begin(p sandbox.Profile, rooted bool, b rulebook) (err error) {
	mounts, root := -1, -1
	if rooted {
		if mounts, err = received(x.sockets[0]); err == nil {
			root, err = received(x.sockets[0])
		}
	}
	var carry func(*notify.Held)
	if err == nil && x.carrier != nil {
		carry = x.carrier.carry
		if err = x.carrier.open(); err == nil {
			x.carrier.sockets, err = newMint(x.sockets[0])
		}
	}
	fd := -1
	if err == nil {
		fd, err = received(x.sockets[0])
	}
	if err == nil {
		x.witness, err = newWitness(p, root, mounts)
	}
	if err != nil {
		x.carrier.end()
		closeAll(mounts, root, fd)
		return &proc.StepError{Step: "take over the listener", Err: err}
	}
	x.watcher, err = notify.Watch(fd, x.acts, func() { x.witness.become(p.Identity) }, func(e notify.Event) {
		var d sandbox.Denial
		refused, known := false, true
		if e.Act == notify.Connect {
			d, refused = judgeConnect(p.Network, e, hasRoute(e.Peer))
		} else {
			d, refused, known = x.witness.judge(b, e)
		}
		switch {
		case !x.records:
		case refused:
			x.log.Add(d)
		case !known:
			x.unknown++
		}
	}, carry)
	return err
}

func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// drop closes the sockets.
func (x *explainer) drop() {
	if x == nil {
		return
	}
	for i := range x.sockets {
		if x.sockets[i] >= 0 {
			_ = unix.Close(x.sockets[i])
			x.sockets[i] = -1
		}
	}
}

// judging is how long the end of a run waits for what was heard to be judged.
const judging = 2 * time.Second

// finish puts what was heard into the result.
func (x *explainer) finish(r *sandbox.Result) {
	if x == nil || x.watcher == nil {
		return
	}
	if x.carrier != nil {
		defer x.carrier.end()
		x.carrier.cancel()
	}
	lost, ended := x.watcher.Finish(judging)
	if ended {
		lost += x.unknown
		x.witness.close()
	}
	list, beyond := x.log.Denials()
	r.Denials, r.DenialsBeyond = append(r.Denials, list...), r.DenialsBeyond+beyond
	if lost > 0 && x.records {
		r.Gaps = append(r.Gaps, sandbox.Gap{
			Control: sandbox.DenialsExplained, Why: strconv.Itoa(lost) + " calls of the command could not be judged: what they were refused is not recorded",
		})
	}
}
