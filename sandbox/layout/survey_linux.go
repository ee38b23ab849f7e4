package layout

import (
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// Stamps tell whether what a survey has found is still so.
type Stamps struct {
	carved []stamp
	hidden []string
	names  []string      // of what is hidden, that mounts give and that could not be hidden
	mounts atomic.Uint64 // the table of mounts for which that is so, see mountWatch
}

// stamp tells whether a carved directory is still as it was listed.
type stamp struct {
	path         string
	dev, ino     uint64
	mtime, ctime unix.Timespec
}

// coarse is the longest step of a file system's clock. A directory that changed
// so shortly before it was listed may change again without a new time.
const coarse = 20 * time.Millisecond

func stampOf(name string) stamp {
	var st unix.Stat_t
	if unix.Lstat(name, &st) != nil {
		return stamp{path: name}
	}
	return stamp{name, st.Dev, st.Ino, st.Mtim, st.Ctim}
}

// Unchanged says whether all is as it was listed.
func (s *Stamps) Unchanged() bool {
	return s.sameNames(hostMounts.now()) &&
		!slices.ContainsFunc(s.carved, func(at stamp) bool { return stampOf(at.path) != at })
}

// sameNames says whether these mounts give what is hidden no other names than before.
func (s *Stamps) sameNames(table mountTable, count uint64) bool {
	if s.mounts.Load() == count {
		return true
	}
	if !slices.Equal(table.aliases(s.hidden), s.names) {
		return false
	}
	s.mounts.Store(count)
	return true
}

// Survey reads the file system: what is hidden, under all names that mounts give
// it, and what lies beside it. extra are hidden, too.
func Survey(p sandbox.Profile, extra ...string) (Carving, *Stamps) {
	now := time.Now()
	table, count := hostMounts.now()
	hidden := append(hiddenPaths(p), extra...)
	stamps := &Stamps{}
	var c Carving
	for range LongestChain {
		hidden = append(hidden, table.aliases(hidden)...)
		c = carve(func() tree { return newDisk() }, hidden)
		hidden = slices.Clone(c.Hidden) // with what links lead to
		if stamps.names = table.aliases(hidden); len(stamps.names) == 0 {
			break
		}
	}
	stamps.hidden = hidden
	stamps.mounts.Store(count)
	stamps.carved = make([]stamp, 0, len(c.carved))
	for _, dir := range c.carved {
		at := stampOf(dir)
		// A directory that changed just now gets a stamp that never matches.
		if now.Sub(time.Unix(at.mtime.Unix())) < coarse {
			at.ino = 0
		}
		stamps.carved = append(stamps.carved, at)
	}
	return c, stamps
}

// InsideWritable lists the hidden paths that a write rule would open again.
func InsideWritable(p sandbox.Profile, hidden []string) []string {
	return slices.DeleteFunc(LateWritable(p, hidden), func(h string) bool { return !slices.ContainsFunc(named(h), exists) })
}

// LateWritable also lists those that do not exist yet: no rule could refuse
// them when they appear.
func LateWritable(p sandbox.Profile, hidden []string) []string {
	var late []string
	writable := Writable(p)
	for _, h := range hidden {
		if slices.ContainsFunc(writable, func(w string) bool { return IsBelow(h, w) && h != w }) {
			late = append(late, h)
		}
	}
	return late
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
