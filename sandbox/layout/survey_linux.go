package layout

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// Stamp tells whether a carved directory is still as it was listed.
type Stamp struct {
	path         string
	dev, ino     uint64
	mtime, ctime unix.Timespec
	text         string // of mountList: what it said
}

// mountList says what is mounted where.
const mountList = "/proc/self/mountinfo"

// coarse is the longest step of a file system's clock. A directory that changed
// so shortly before it was listed may change again without a new time.
const coarse = 20 * time.Millisecond

func stampOf(name string) Stamp {
	if name == mountList {
		text, _ := os.ReadFile(name)
		return Stamp{path: name, text: string(text)}
	}
	var st unix.Stat_t
	if unix.Lstat(name, &st) != nil {
		return Stamp{path: name}
	}
	return Stamp{path: name, dev: st.Dev, ino: st.Ino, mtime: st.Mtim, ctime: st.Ctim}
}

// Unchanged says whether all is as it was listed.
func Unchanged(stamps []Stamp) bool {
	return !slices.ContainsFunc(stamps, func(s Stamp) bool { return stampOf(s.path) != s })
}

// Survey reads the file system: what is hidden, under all names that mounts give
// it, and what lies beside it. extra are hidden, too.
func Survey(p sandbox.Profile, extra ...string) (Carving, []Stamp) {
	now := time.Now()
	mounts := stampOf(mountList)
	table := tableOf(mounts.text)
	hidden := append(hiddenPaths(p), extra...)
	var c Carving
	for range LongestChain {
		hidden = append(hidden, table.aliases(hidden)...)
		c = carve(func() tree { return newDisk() }, hidden)
		hidden = slices.Clone(c.Hidden) // with what links lead to
		if len(table.aliases(hidden)) == 0 {
			break
		}
	}
	stamps := make([]Stamp, 0, len(c.carved)+1)
	stamps = append(stamps, mounts)
	for _, dir := range c.carved {
		at := stampOf(dir)
		// A directory that changed just now gets a stamp that never matches.
		if now.Sub(time.Unix(at.mtime.Unix())) < coarse {
			at.ino = 0
		}
		stamps = append(stamps, at)
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
