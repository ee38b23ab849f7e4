package proc

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// Measured lists the limits that this package keeps by itself: it looks at the
// run from outside, and ends it.
func Measured() []sandbox.Control {
	list := []sandbox.Control{
		sandbox.LimitCPU, sandbox.LimitMemory, sandbox.LimitProcesses, sandbox.LimitFileSize, sandbox.LimitOutput,
	}
	if unix.Access("/proc/self/io", unix.R_OK) == nil {
		list = append(list, sandbox.LimitDisk)
	}
	return list
}

// watcher looks at a run again and again until a limit is reached.
type watcher struct {
	limits sandbox.Limits
	tree   tree
	group  Group
	temp   Temp

	over  chan sandbox.Ending // gets one value at most
	quit  chan struct{}
	done  chan struct{}
	pause time.Duration // until the next look
	count *census       // nil: there is none
	full  bool          // the temp file systems were full at one time
}

// watches says whether a run has a limit that must be looked at while it runs.
func (j Job) watches() bool {
	l := j.Limits
	return l.CPUTime > 0 || l.MemoryBytes > 0 || l.Processes > 0 || l.DiskBytes > 0 || l.TempBytes > 0
}

// watch begins to look; nil when there is nothing to look for.
func watch(j Job, t tree, temp Temp) *watcher {
	if !j.watches() {
		return nil
	}
	w := &watcher{
		limits: j.Limits, tree: t, group: j.Group, temp: temp,
		over: make(chan sandbox.Ending, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if n, ok := t.(namespace); ok && j.Limits.Without(w.held()).Processes > 0 {
		w.count = openCensus(n.pid)
	}
	go w.loop()
	return w
}

func (w *watcher) loop() {
	defer close(w.done)
	defer w.count.close()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	var due time.Time // of the next look
	for {
		select {
		case <-w.quit:
			return
		case <-timer.C:
		}
		began := time.Now()
		name, near := w.glance()
		glanced := time.Since(began)
		if name == "" && !began.Before(due) {
			name = w.look()
			due = time.Now().Add(max(w.pause, 4*time.Since(began)))
		}
		if name != "" {
			w.over <- name
			w.endOutside()
			return
		}
		next := time.Until(due)
		if w.count != nil {
			next = min(next, max(near, 4*glanced))
		}
		timer.Reset(next)
	}
}

// glance only counts processes, and says when to do it again. A bomb takes some
// milliseconds from a quarter of the limit to the kernel's own bound, and as long
// until it is gone when it ends there.
func (w *watcher) glance() (sandbox.Ending, time.Duration) {
	n, ok := w.count.count()
	switch {
	case ok && n > w.limits.Processes:
		return sandbox.OverProcesses, 0
	case ok && n > w.limits.Processes/4:
		return "", soon / 2
	}
	return "", 2 * soon
}

// soon is the time between two looks at the start of a run and when it comes
// near the number of its processes: that grows fastest, and a program that the
// kernel refuses one more often ends at once.
const soon = SampleEvery / 10

// rest chooses the next pause.
func (w *watcher) rest(tasks int) {
	w.pause = min(2*max(w.pause, soon), SampleEvery)
	if w.limits.Processes > 0 && tasks > w.limits.Processes/4 {
		w.pause = soon
	}
}

// reached is where the first limit is told; nil never is.
func (w *watcher) reached() <-chan sandbox.Ending {
	if w == nil {
		return nil
	}
	return w.over
}

// stop ends the looking, and returns what the kernel counted up to the end.
func (w *watcher) stop() sandbox.Ending {
	if w == nil {
		return ""
	}
	close(w.quit)
	<-w.done
	w.lookAtTemp()
	select {
	case name := <-w.over: // it was too late to end anything
		return name
	default:
	}
	if w.group != nil {
		return w.group.Reached()
	}
	return ""
}

// look measures once.
func (w *watcher) look() sandbox.Ending {
	if w.group != nil {
		if name := w.group.Reached(); name != "" {
			return name
		}
	}
	w.rest(0)
	inTemp := w.lookAtTemp()
	l := w.limits.Without(w.held())
	counted := false
	if w.group != nil && l.CPUTime > 0 {
		var used time.Duration
		if used, counted = w.group.CPUTime(); counted && used > l.CPUTime {
			return sandbox.OverCPU
		}
	}
	if l.MemoryBytes == 0 && l.Processes == 0 && l.DiskBytes == 0 && (l.CPUTime == 0 || counted) {
		return ""
	}
	m := measure(w.tree.members(), l)
	m.cpu += w.tree.spent()
	w.rest(m.tasks)
	switch {
	case l.Processes > 0 && m.tasks > l.Processes:
		return sandbox.OverProcesses
	case l.MemoryBytes > 0 && m.over(l.MemoryBytes, inTemp):
		return sandbox.OverMemory
	case l.DiskBytes > 0 && m.written > l.DiskBytes:
		return sandbox.OverDisk
	case l.CPUTime > 0 && !counted && m.cpu > l.CPUTime:
		return sandbox.OverCPU
	}
	return ""
}

// lookAtTemp says how many bytes lie in the run's own file systems.
func (w *watcher) lookAtTemp() int64 {
	if w.temp == nil {
		return 0
	}
	used, free := w.temp()
	w.full = w.full || w.limits.TempBytes > 0 && free < int64(unix.Getpagesize())
	return used
}

// held lists what the kernel holds.
func (w *watcher) held() []sandbox.Control {
	var list []sandbox.Control
	for _, c := range sandbox.LimitControls() {
		if w.group != nil && w.group.Holds(c) {
			list = append(list, c)
		}
	}
	return list
}

// filled says whether the temp file systems were seen full.
func (w *watcher) filled() bool { return w != nil && w.full }

// endOutside ends what a library run started and what then left its process
// group: it may be what reached the limit.
func (w *watcher) endOutside() {
	if g, ok := w.tree.(group); ok {
		for _, m := range g.members() {
			_ = unix.Kill(m.pid, unix.SIGKILL)
		}
	}
}
