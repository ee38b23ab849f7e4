package changes

// plan is what Apply will do. It prints as JSON without loss: a kept preview
// and the journal of an apply are this.
type plan struct {
	Ops   []op     `json:"ops"`
	Modes []modeOf `json:"modes,omitempty"` // true modes of what the layer had to open up
	Links []anchor `json:"links,omitempty"` // files of the layer that are links to files that stay
	Bases []state  `json:"bases"`           // the roots as they were
}

// modeOf is the mode that a path of the layer had before it was made readable.
type modeOf struct {
	Root int     `json:"root"`
	Path rawPath `json:"path"`
	Mode uint32  `json:"mode"`
}

// anchor says that a file of the layer, by inode, is a file that stays.
type anchor struct {
	Root int     `json:"root"`
	Ino  uint64  `json:"ino"`
	Path rawPath `json:"path"`
}

// verb is one way of changing a path.
type verb string

const (
	put    verb = "put"    // something new appears
	swap   verb = "swap"   // what is there is exchanged
	remove verb = "remove" // what is there goes away
	adjust verb = "adjust" // mode, owner, times, attributes
)

// op is one act of an apply. Each can be found done, and can be undone.
type op struct {
	Root int     `json:"root"`
	Do   verb    `json:"do"`
	Path rawPath `json:"path"`
	Was  *state  `json:"was,omitempty"`   // what must be there; nil: nothing
	Then *state  `json:"then,omitempty"`  // of put, swap and adjust: what shall be there
	Tree []below `json:"below,omitempty"` // of swap and remove: all that must lie below
	// Staged is the inode of what was made ready, 0 for remove and adjust.
	Staged uint64 `json:"staged,omitempty"`
}

// below is one path below an op's.
type below struct {
	Path rawPath `json:"path"` // below the path of the op
	Was  state   `json:"was"`
}

// state is what is compared of a file.
type state struct {
	Dev    uint64            `json:"dev"`
	Ino    uint64            `json:"ino"`
	Mode   uint32            `json:"mode"` // with the type
	UID    uint32            `json:"uid"`
	GID    uint32            `json:"gid"`
	Links  uint64            `json:"links"`
	Size   int64             `json:"size"`
	Mtime  int64             `json:"mtime"` // ns
	Atime  int64             `json:"atime"` // ns
	Ctime  int64             `json:"ctime"` // ns
	Target rawPath           `json:"target,omitempty"`
	Attrs  map[string][]byte `json:"attrs,omitempty"`
	rdev   uint64
}
