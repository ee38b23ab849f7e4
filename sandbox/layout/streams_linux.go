package layout

import (
	"slices"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/landlock"
)

// CheckStreams refuses a protected file as a stream that is opened for reading: past the
// mount that protects it, it can be opened anew for writing, and Landlock, which goes by
// directories, lets everything below a writable one be written.
func CheckStreams(p sandbox.Profile, streams [3]uintptr) error {
	if len(p.Protect) == 0 {
		return nil
	}
	writable := Writable(p)
	spared := func(name string) bool { return !belowAny(name, p.Protect) || !belowAny(name, writable) }
	return landlock.CheckStreams(streams, SubjectOf(p).UID, "it is protected", spared)
}

// CheckOutside refuses a file as a stream that is opened for reading, unless it lies where
// the command may write anyway. It is for kernels that have no rules about that.
func CheckOutside(p sandbox.Profile, streams [3]uintptr) error {
	writable := Writable(p)
	return landlock.CheckStreams(streams, SubjectOf(p).UID, "Landlock refuses that from Linux 6.2 on", func(name string) bool { return belowAny(name, writable) })
}

func belowAny(name string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return IsBelow(name, dir) })
}
