// Package changes says what a previewed run would change, and makes it so, or
// does not. A previewed command writes into a layer beside the real files: an
// overlay's upper directory, or a copy. Read compares the layer with the real
// files, Apply carries the difference over, all of it or nothing.
package changes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Layer is what a run wrote for one directory.
type Layer struct {
	Root string   // the real directory; absolute, without symbolic links
	Dir  *os.File // the layer: an overlay's upper directory, or the copy
	// Dev and Ino are what Root was when the run began; 0: not checked.
	Dev, Ino uint64
	// Copy is the state of Root that the copy was made of. nil: Dir is an upper
	// directory.
	Copy *Snapshot
}

// Owner is the user whose rights are used where root works for somebody else.
type Owner struct {
	UID, GID uint32
	Groups   []uint32
}

// Options say how a layer is read.
type Options struct {
	// Began is a moment before the command started. What changed later on the real
	// side is a conflict. File systems stamp with a clock that goes by ticks of some
	// milliseconds, so a change in the tick of Began passes for an earlier one: the
	// command has not started by then.
	Began time.Time
	// Protect lists absolute paths that Apply must leave alone, with all below;
	// Except lists paths below them that it may change.
	Protect, Except []string
	Owner           *Owner // nil: the caller itself
	// Store is a directory of the caller's that no command can write: the journal
	// of an apply is kept there, and what Keep keeps. Empty: an apply that is cut
	// off cannot go on, and nothing is kept.
	Store string
	// Dir is the directory in the store that holds the layers, made by NewDir;
	// empty: they are in memory.
	Dir string
}

// Kind says what happened to one path.
type Kind string

// The kinds of an Entry.
const (
	Created  Kind = "created"
	Changed  Kind = "changed"  // content, link target, or the type of the file
	Deleted  Kind = "deleted"  //
	Metadata Kind = "metadata" // mode, owner, times or attributes alone
)

// Entry is one path that differs.
type Entry struct {
	Root string `json:"root"`
	Path string `json:"path"` // below Root; "." is Root itself
	Kind Kind   `json:"kind"`
	// Type is "file", "directory", "symlink", "fifo" or "socket", as it is now;
	// of a deleted path as it was.
	Type    string `json:"type"`
	OldType string `json:"old_type,omitempty"` // where the type changed
	Size    int64  `json:"size"`               // bytes, of a file
	OldSize int64  `json:"old_size"`           // bytes before, 0 if it was none
	Mode    uint32 `json:"mode"`               // permission bits
	OldMode uint32 `json:"old_mode,omitempty"` // permission bits before
	Target  string `json:"target,omitempty"`   // of a symlink
	// Link is the path of another entry or of a file that stays, of which this
	// is a hard link.
	Link string `json:"hard_link,omitempty"`
}

// Conflict is a path for which the changes cannot be applied.
type Conflict struct {
	Root string `json:"root"`
	Path string `json:"path"`
	Why  string `json:"why"` // one sentence
}

// Totals counts entries by kind.
type Totals struct {
	Created  int `json:"created"`
	Changed  int `json:"changed"`
	Deleted  int `json:"deleted"`
	Metadata int `json:"metadata"`
	// Bytes is what the created and changed files hold.
	Bytes int64 `json:"bytes"`
}

// State says what became of the changes.
type State string

// The states of Changes.
const (
	Pending   State = "pending"
	Applied   State = "applied"
	Discarded State = "discarded"
	Kept      State = "kept"      // for later, see ID
	Unfinish  State = "half-done" // an apply was cut off: apply goes on, discard takes it back
)

// Changes is what one run would change. It prints as JSON. It is not safe for
// concurrent use.
type Changes struct {
	ID        string     `json:"id,omitempty"` // name in the store, empty: not kept
	State     State      `json:"state"`
	Roots     []string   `json:"roots"`
	Entries   []Entry    `json:"entries"`
	Conflicts []Conflict `json:"conflicts,omitempty"` // found when the layer was read
	Totals    Totals     `json:"totals"`
	// Full says that the layer had no room left: the command may have failed for
	// that.
	Full bool `json:"full,omitempty"`

	plan   plan
	layers []*os.File // of the roots
	owner  *Owner
	store  string // see Options.Store
	dir    string // see Options.Dir
}

// maxPrinted is the number of entries in a record: enough to judge, and no log
// that a command can fill. Full prints all.
const maxPrinted = 1000

// MarshalJSON prints at most maxPrinted entries, and how many there are beyond.
func (c *Changes) MarshalJSON() ([]byte, error) {
	brief := printed{view: (*view)(c)}
	if n := len(c.Entries); n > maxPrinted {
		short := view(*c)
		short.Entries = c.Entries[:maxPrinted]
		brief.view, brief.Beyond = &short, n-maxPrinted
	}
	return json.Marshal(brief)
}

type view Changes

type printed struct {
	*view
	Beyond int `json:"entries_beyond,omitempty"`
}

// Brief is the changes without the names of files: to be printed, not applied.
func (c *Changes) Brief() *Changes {
	return &Changes{ID: c.ID, State: c.State, Roots: c.Roots, Entries: []Entry{}, Totals: c.Totals, Full: c.Full}
}

// All prints as JSON with every entry.
func (c *Changes) All() any { return (*view)(c) }

// Empty says that there is nothing worth applying: at most directories in which
// something came and went have another time.
func (c *Changes) Empty() bool { return len(c.Entries) == 0 && len(c.Conflicts) == 0 }

// Protect makes a conflict of each change at or below one of the absolute paths,
// unless it is at or below one of the exceptions.
func (c *Changes) Protect(paths, except []string) {
	below := func(path string, list []string) string {
		for _, p := range list {
			if path == p || strings.HasPrefix(path, p+"/") {
				return p
			}
		}
		return ""
	}
	for _, e := range c.Entries {
		full := e.Root + "/" + e.Path
		if e.Path == "." {
			full = e.Root
		}
		if p := below(full, paths); p != "" && below(full, except) == "" {
			c.Conflicts = append(c.Conflicts, Conflict{e.Root, e.Path, "it is protected: " + p})
		}
	}
}

// Close lets go of the layers. What is in memory is gone then.
func (c *Changes) Close() error {
	var first error
	for _, f := range c.layers {
		if f == nil {
			continue
		}
		if err := f.Close(); err != nil && first == nil {
			first = err
		}
	}
	c.layers = nil
	return first
}

// Stored is one preview in a store.
type Stored struct {
	ID      string    `json:"id"`
	State   State     `json:"state"` // Kept or Unfinish
	Made    time.Time `json:"made"`
	Command string    `json:"command,omitempty"`
	Roots   []string  `json:"roots"`
	Totals  Totals    `json:"totals"`
}

// ConflictError refuses to apply. Nothing has changed.
type ConflictError struct{ Conflicts []Conflict }

func (e *ConflictError) Error() string {
	first := e.Conflicts[0]
	text := fmt.Sprintf("apply changes: %q: %s", first.Path, first.Why)
	if n := len(e.Conflicts) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// ErrTooBig says that a directory, or a layer, is larger than was allowed.
var ErrTooBig = errors.New("it is too large to be copied")

// ErrNoPreview says that nothing is kept under an ID.
var ErrNoPreview = errors.New("no preview")

// ErrGone says that the layer was closed.
var ErrGone = errors.New("the changes are no longer there")

// rawPath is a path that prints as JSON without loss, whatever bytes it holds.
type rawPath string

// MarshalText quotes the path.
func (p rawPath) MarshalText() ([]byte, error) {
	q := strconv.QuoteToASCII(string(p))
	return []byte(q[1 : len(q)-1]), nil
}

// UnmarshalText is the reverse of MarshalText.
func (p *rawPath) UnmarshalText(b []byte) error {
	s, err := strconv.Unquote(`"` + string(b) + `"`)
	if err != nil || strings.ContainsRune(s, 0) {
		return fmt.Errorf("stored path %q: not a path", b)
	}
	*p = rawPath(s)
	return nil
}

func join(dir, name string) string {
	if dir == "" || dir == "." {
		return name
	}
	return dir + "/" + name
}

// count fills in the totals.
func (c *Changes) count() {
	c.Totals = Totals{}
	for _, e := range c.Entries {
		switch e.Kind {
		case Created:
			c.Totals.Created++
		case Changed:
			c.Totals.Changed++
		case Deleted:
			c.Totals.Deleted++
		case Metadata:
			c.Totals.Metadata++
		}
		if e.Type == "file" && e.Link == "" && (e.Kind == Created || e.Kind == Changed) {
			c.Totals.Bytes += e.Size
		}
	}
}
