package spawn

import (
	"sync"

	"golang.org/x/sys/unix"
)

// dumpable counts the children that change their credentials while they share
// our memory: the kernel then forbids access to it, for us as well.
var dumpable struct {
	sync.Mutex
	users int
	was   int
}

// KeepDumpable remembers whether our memory may be looked at; what it returns
// sets that again.
func KeepDumpable() func() {
	d := &dumpable
	d.Lock()
	defer d.Unlock()
	if d.users++; d.users == 1 {
		d.was, _ = unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	}
	return func() {
		d.Lock()
		defer d.Unlock()
		if d.users--; d.users == 0 {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(d.was), 0, 0, 0)
		}
	}
}
