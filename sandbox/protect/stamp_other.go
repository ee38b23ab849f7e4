//go:build !linux

package protect

import (
	"io/fs"
	"os"
	"time"
)

// stamp is a file's fingerprint, as far as the standard library tells it.
type stamp struct {
	exists bool
	mode   fs.FileMode
	size   int64
	links  uint64
	mtime  int64 // ns since 1970
}

func lookAt(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{exists: true, mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}
}

func (p stamp) dir() bool     { return p.exists && p.mode.IsDir() }
func (p stamp) link() bool    { return p.mode&fs.ModeSymlink != 0 }
func (p stamp) regular() bool { return p.exists && p.mode.IsRegular() }

type clock struct{ exact time.Time }

func now() clock { return clock{time.Now()} }

func (p stamp) same(q stamp) bool {
	if p.dir() && q.dir() {
		return p.mode == q.mode
	}
	return p == q
}

// Times of change that programs cannot set are not known here, so nothing is
// remembered.

func (c clock) steady() bool           { return false }
func (p stamp) leaf() bool             { return false }
func (c clock) steadyUntil(clock) bool { return false }
func (p stamp) calm(clock) bool        { return false }
func tellsChanges(string) bool         { return false }

func changedSince(dir string, c clock) bool { return lookAt(dir).mtime >= c.exact.UnixNano() }

// scan needs times of change that programs cannot set.
func (r *report) scan(*finder, time.Time) {
	if r.trust.Incomplete == "" {
		r.trust.Incomplete = "on this system only fixed names are looked at"
	}
}

func target(path string, p stamp) string {
	if !p.link() {
		return ""
	}
	to, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	return to
}
