package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Denial is one act of the command that the sandbox refused, as the layer that
// refused it or the kernel's notification told it. It is never guessed from what
// the command printed. The zero value says nothing and is not recorded.
type Denial struct {
	Operation Operation
	Path      string // absolute, as the host has it; any byte but NUL. Empty for the network
	To        string // second path of a rename or link; may be empty
	Host      string // name or address for the network, without the port
	Port      uint16 // 0: none
	Call      string // the system call, where one was seen: "openat"
	Layer     Layer
	Rule      string // what in the layer says no: "outside the workspace", "host not listed"
	// Allow is the flag or configuration line that would let it through; empty
	// when nothing does, and then Rule says so.
	Allow string
	// Likely says that the sandbox is the probable reason, not the certain one: its
	// rules refuse the act, but whether the command's own permissions would have
	// sufficed could not be found out.
	Likely bool
	Count  int // how often the same was refused; at least 1 in a Result
}

// Operation is what was refused.
type Operation string

// The operations of a Denial.
const (
	DeniedRead     Operation = "read"     // of a hidden file
	DeniedWrite    Operation = "write"    // to a file that exists
	DeniedCreate   Operation = "create"   // of a file, directory, link or node
	DeniedDelete   Operation = "delete"   // of a file or directory
	DeniedRename   Operation = "rename"   // from Path to To
	DeniedLink     Operation = "link"     // a second name To for Path
	DeniedMetadata Operation = "metadata" // mode, owner, times, attributes
	DeniedConnect  Operation = "connect"  // to a host
	DeniedResolve  Operation = "resolve"  // of a host's name
	DeniedRequest  Operation = "request"  // over a connection that stands
)

// Layer is the part of the confinement that refused.
type Layer string

// The layers of a Denial.
const (
	LayerMount    Layer = "mount"    // a read-only mount
	LayerCover    Layer = "cover"    // a mount that hides what lies below
	LayerLandlock Layer = "landlock" // a Landlock rule
	LayerSeccomp  Layer = "seccomp"  // the system call filter
	LayerNetwork  Layer = "network"  // a network namespace with nothing but its own loopback
	LayerProxy    Layer = "proxy"    // the network's allow list, in the proxy
	LayerBroker   Layer = "broker"   // the same, for programs that ignore proxies
	LayerResolver Layer = "resolver" // the same, for names
)

// Explain says which acts are watched, beside those on the network, so that
// their denials can be recorded. Watching costs time at each such call.
type Explain uint8

// The values of Profile.Explain, each with all before it.
const (
	ExplainNone   Explain = iota
	ExplainWrites         // writes, deletions, renames, changes of metadata; connections that no proxy carries
	ExplainReads          // and reads of what is hidden: every file that is opened
)

// RetryWillNotHelp is what every record says to whoever thinks of trying again.
const RetryWillNotHelp = "retrying will not help"

// Target is what the act was aimed at, for people. Paths with bytes that a
// terminal must not get are quoted.
func (d Denial) Target() string {
	if d.Host != "" {
		host := d.Host
		if address, err := netip.ParseAddr(host); err != nil {
			host = printable(host)
		} else if address.Is6() {
			host = "[" + host + "]"
		}
		if d.Port != 0 {
			host += ":" + strconv.Itoa(int(d.Port))
		}
		return host
	}
	if d.To != "" {
		return printable(d.Path) + " to " + printable(d.To)
	}
	return printable(d.Path)
}

// printable quotes what could be taken for more than a path or a host: the
// command chooses the bytes of both.
func printable(s string) string {
	if q := strconv.Quote(s); s == "" || q != `"`+s+`"` || strings.ContainsAny(s, " ;,:()'") {
		return q
	}
	return s
}

// String is one sentence: what was refused, by what, and what would allow it.
func (d Denial) String() string {
	var b strings.Builder
	b.WriteString(string(d.Operation) + " " + d.Target())
	if d.Count > 1 {
		fmt.Fprintf(&b, " (%d times)", d.Count)
	}
	if d.Likely {
		b.WriteString(": likely refused by ")
	} else {
		b.WriteString(": refused by ")
	}
	b.WriteString(string(d.Layer) + ", " + d.Rule)
	if d.Allow != "" {
		b.WriteString("; " + d.Allow + " would allow it")
	}
	return b.String() + "; " + RetryWillNotHelp
}

// denialJSON is the form on the wire. JSON strings hold no bytes that are not
// UTF-8, so a path with such bytes is given whole a second time, in base64.
type denialJSON struct {
	Operation Operation `json:"operation"`
	Path      string    `json:"path,omitempty"`
	PathBytes []byte    `json:"path_bytes,omitempty"`
	To        string    `json:"to,omitempty"`
	ToBytes   []byte    `json:"to_bytes,omitempty"`
	Host      string    `json:"host,omitempty"`
	Port      uint16    `json:"port,omitempty"`
	Call      string    `json:"call,omitempty"`
	Layer     Layer     `json:"layer"`
	Rule      string    `json:"rule"`
	Allow     string    `json:"allow,omitempty"`
	Likely    bool      `json:"likely,omitempty"`
	Count     int       `json:"count"`
	Retry     string    `json:"retry"`
}

// MarshalJSON writes the record with what it says about retrying.
func (d Denial) MarshalJSON() ([]byte, error) {
	return json.Marshal(denialJSON{
		Operation: d.Operation, Path: d.Path, PathBytes: notText(d.Path), To: d.To, ToBytes: notText(d.To), Host: d.Host, Port: d.Port,
		Call: d.Call, Layer: d.Layer, Rule: d.Rule, Allow: d.Allow, Likely: d.Likely, Count: max(d.Count, 1), Retry: RetryWillNotHelp,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Denial) UnmarshalJSON(text []byte) error {
	var j denialJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*d = Denial{
		Operation: j.Operation, Path: cmp.Or(string(j.PathBytes), j.Path), To: cmp.Or(string(j.ToBytes), j.To), Host: j.Host, Port: j.Port,
		Call: j.Call, Layer: j.Layer, Rule: j.Rule, Allow: j.Allow, Likely: j.Likely, Count: j.Count,
	}
	return nil
}

func notText(s string) []byte {
	if utf8.ValidString(s) {
		return nil
	}
	return []byte(s)
}

// maxDenials bounds the records of one run: a command can try as many paths as
// it likes, and nobody reads more.
const maxDenials = 200

// DenialLog gathers the denials of one run. Identical ones are counted, and
// what is too many is counted as a whole. The zero value is ready; it is safe
// for concurrent use.
type DenialLog struct {
	mu     sync.Mutex
	list   []Denial
	index  map[Denial]int
	beyond int
}

// Add records one denial. One without an operation or a layer is none.
func (l *DenialLog) Add(d Denial) {
	if d.Operation == "" || d.Layer == "" {
		return
	}
	times := max(d.Count, 1)
	d.Count = 0
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.index[d]; ok {
		l.list[at].Count += times
		return
	}
	if len(l.list) == maxDenials {
		l.beyond += times
		return
	}
	if l.index == nil {
		l.index = make(map[Denial]int)
	}
	l.index[d] = len(l.list)
	d.Count = times
	l.list = append(l.list, d)
}

// Denials lists what was recorded in the order of the first time, and how many
// more there were than are listed.
func (l *DenialLog) Denials() (list []Denial, beyond int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Denial(nil), l.list...), l.beyond
}
