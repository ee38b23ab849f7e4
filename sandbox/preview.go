package sandbox

import "errors"

// ErrNoOverlay says that no overlay can be mounted here, though the tier works:
// the kernel has none, or not over this directory. It comes with ErrStart; a run
// over a copy may work.
var ErrNoOverlay = errors.New("no overlay can be mounted over the directory")

// Preview says that what a command writes below some directories goes into a
// layer beside them. The directories stay as they are.
type Preview struct {
	// Roots are the directories: absolute, without symbolic links, none below
	// another. The workspace is one of them or lies below one. Other writable
	// paths below a root are under its layer, too; Private is not.
	Roots []string
	// Bytes is how much the layers may take in memory: a hard limit, the command
	// sees a full disk. Where Command.Layers are given, nothing watches them here.
	Bytes int64
	// Copy shows the directories of Command.Layers in place of the roots.
	Copy bool
}

// Previewer is a Backend that keeps the promise of Profile.Preview. Others write
// to the real files: they are never asked.
type Previewer interface {
	// CanPreview is true. It does not say whether the host allows it.
	CanPreview() bool
}
