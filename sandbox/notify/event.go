package notify

import "net/netip"

// Act is what a call does to its path.
type Act uint8

// The acts. The zero value is none.
const (
	_        Act = iota
	Read         // open a file for reading only
	Write        // open for writing: see the flags of Event
	Truncate     // by path
	Create       // a directory, node, link or socket file: it must not exist
	Delete       // a name
	DeleteDir
	Rename  // from Paths[0] to Paths[1]
	Link    // a second name Paths[1] for Paths[0]
	Mode    // chmod
	Owner   // chown
	Times   // utime
	Connect // a socket to Peer
)

// Acts is a set of acts.
type Acts uint16

// Of gathers acts.
func Of(acts ...Act) Acts {
	var set Acts
	for _, a := range acts {
		set |= 1 << a
	}
	return set
}

func (s Acts) has(a Act) bool { return s&(1<<a) != 0 }

// Event is one call, as it was when the kernel stopped it. It does not change.
type Event struct {
	Call string
	Act  Act
	// Paths are absolute as the caller saw them, not cleaned and with their
	// symbolic links, for the host may have others at the same place. The second is
	// empty but for Rename and Link.
	Paths     [2]string
	Peer      netip.AddrPort // of Connect: an address of the internet
	Follow    bool           // a symbolic link at the end of Paths[0] is followed
	Writes    bool           // of Write: a file that is there is written to or emptied
	Create    bool           // of Write: a file that is not there is made
	Exclusive bool           // of Write and Rename: it must not be there
	Unnamed   bool           // of Write: a file without a name is made in the directory Paths[0]
}
