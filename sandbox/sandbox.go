// Package sandbox is the contract between the engine and its backends: what
// must hold (Profile), what will be done (Plan), what cannot be given here
// (Gap) and what happened (Result). It holds no backend code.
package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// Errors that callers branch on. Whether anything ran is always decidable:
// after all but ErrLost nothing of the command has run.
var (
	// ErrUnavailable: the backend could work on this system but does not here.
	ErrUnavailable = errors.New("backend unavailable")
	// ErrUnsupported: the backend does not exist for this operating system.
	ErrUnsupported = errors.New("backend unsupported on this system")
	// ErrStart: the command could not be started; nothing ran.
	ErrStart = errors.New("command not started")
	// ErrLost: the command may have run, its outcome is unknown.
	ErrLost = errors.New("outcome lost")
	// ErrUnread is what a writer of Command.Stdout or Stderr says that passes on to a
	// file which nobody reads any more: the command learns it as if it had the
	// file itself, and it is no error of the run.
	ErrUnread = errors.New("nobody reads the output")
)

// Backend is one way to confine a command.
type Backend interface {
	// Name is the word that --backend and the configuration use.
	Name() string
	// Probe measures what this host can enforce. It tries; it does not infer.
	Probe(ctx context.Context) (Capabilities, error)
	// Open checks the profile against this host and prepares what many
	// commands share. It refuses (see GapError) when a required control is
	// missing and its gap was not accepted by name.
	Open(ctx context.Context, p Profile) (Session, error)
}

// Session runs commands under one profile. It is safe for concurrent use.
type Session interface {
	// Plan is pure: it says what Run would do and runs nothing.
	Plan(c Command) (Plan, error)
	// Run starts the command and waits. A non-zero exit is a Result, not an error.
	Run(ctx context.Context, c Command) (Result, error)
	Close() error
}

// Eager is a Session that gets the process of a command ready, confined, while its
// caller still works out the environment: most of what a start takes is spent in the
// kernel, for the child.
type Eager interface {
	Session
	// RunEager is Run of a command whose Env is what environ gives. When that fails
	// nothing runs, and its error is in the one that is returned.
	RunEager(ctx context.Context, c Command, environ func() ([]string, error)) (Result, error)
}

// Control names one promise of confinement.
type Control string

// The controls. The first six are required by default, see DefaultRequired.
const (
	WritesConfined    Control = "writes-confined"    // writes only below the workspace and named paths
	CredentialsHidden Control = "credentials-hidden" // credential files unreadable
	NoNewPrivileges   Control = "no-new-privileges"  // set-id programs gain nothing
	NoCapabilities    Control = "no-capabilities"    // every capability set is empty
	SyscallFilter     Control = "syscall-filter"     // seccomp table of package filter
	TreeEnds          Control = "tree-ends"          // the command's process group ends with it

	// Where the backend owns the whole tree (a supervisor that is a subreaper, a
	// pid namespace, a container) nothing at all is left. A library cannot be a
	// subreaper, so there a daemon that called setsid survives: that is a control
	// of its own, which no library run is refused for.
	DaemonsEnd     Control = "daemons-end"      // also what left the process group ends
	EndsWithCaller Control = "ends-with-caller" // everything ends when sbx itself is killed

	CredentialsLate  Control = "credentials-late"  // credential files that appear or are replaced while the command runs
	MountsLate       Control = "mounts-late"       // file systems that the host mounts while the command runs cannot be written
	NetworkOff       Control = "network-off"       // no socket reaches a network
	Loopback         Control = "loopback"          // servers on 127.0.0.1 for the command's own use
	UnixSockets      Control = "unix-sockets"      // no connection to a socket outside by path
	Signals          Control = "signals"           // no signal to processes outside
	AbstractSockets  Control = "abstract-sockets"  // no connection to abstract sockets outside
	DescriptorsShut  Control = "descriptors-shut"  // only 0, 1, 2 are inherited
	MetadataConfined Control = "metadata-confined" // chmod, chown, utime, xattr outside
	ProcessesHidden  Control = "processes-hidden"  // other processes are not listed
	StatHidden       Control = "stat-hidden"       // names and sizes of hidden files
	SharedMemory     Control = "shared-memory"     // /dev/shm is private
	HooksProtected   Control = "hooks-protected"   // files in the workspace that others run later
	HostNetwork      Control = "host-network"      // metadata addresses, the host's loopback
	Terminals        Control = "terminals"         // other terminals of the same user

	AllCarried       Control = "all-carried"       // with NetworkRules: programs that ignore proxies reach what is listed, too
	DenialsExplained Control = "denials-explained" // what Profile.Explain asks for is recorded
)

// DefaultRequired lists the controls whose absence refuses a run on this system:
// all that it can give to anybody. What it cannot is a gap with a name all the
// same, and refuses where it is required by name.
func DefaultRequired() []Control { return DefaultRequiredOn(runtime.GOOS) }

// DefaultRequiredOn is DefaultRequired on a system, by its name in Go (GOOS).
func DefaultRequiredOn(system string) []Control {
	list := []Control{WritesConfined, CredentialsHidden, NoNewPrivileges, NoCapabilities}
	if system != "darwin" { // which documents no filter of system calls
		list = append(list, SyscallFilter)
	}
	return append(list, TreeEnds)
}

// Network says what the command may reach.
type Network uint8

// The zero value is off: a forgotten field must not open the network.
const (
	NetworkNone Network = iota // nothing, not even the host's loopback
	NetworkHost                // the host's network as it is
)

// String gives the word used by flags, configuration and results.
func (n Network) String() string {
	switch n {
	case NetworkHost:
		return "on"
	case NetworkRules:
		return "allow:"
	}
	return "off"
}

// Profile says what must hold, never how one tool is told to do it. All paths
// are absolute, without symbolic links, and exist.
type Profile struct {
	Workspace string   // read-write; the only place outside Private that may change
	Write     []string // further read-write paths
	Read      []string // paths readable although Hide or the default list covers them
	Hide      []string // paths unreadable in addition to the default credential list
	Home      string   // the caller's home directory, where credentials are looked for; may be empty
	Private   Private  // sbx's own directories for this workspace
	Network   Network
	Egress    *Egress // with NetworkRules, and only then
	Limits    Limits
	Explain   Explain   // which denials are recorded
	UnixAllow bool      // sockets of the unix family may be made (accepts gap unix-sockets)
	Identity  *Identity // run as somebody else (only root can); nil: as the caller
	Required  []Control // nil: DefaultRequired
	Accept    []Control // gaps that the owner accepted by name
	// ReadOnly says that the workspace must not change either.
	ReadOnly bool
	// Protect lists what exists below a writable path and stays as it is: files,
	// directories with all that is in them, and symbolic links, which must not be
	// replaced (what they lead to is listed on its own). No directory above one
	// may be renamed away. Their ancestors are no links. nil: nobody looked for
	// such files. A backend that cannot do it names the gap HooksProtected.
	Protect []string
	// Container is for backends that run commands in containers.
	Container Container
	// Tier is the one tier to use, by its name, also when a stronger one would
	// work: it starts faster, and what it lacks is named. Empty: the strongest.
	Tier string
	// MinTier is the weakest tier of a backend that will do, by its name; empty:
	// any.
	MinTier string
	// Preview, if any, keeps what is written away from the real files. A backend
	// that is no Previewer must not be given one.
	Preview *Preview
	// Supervisor says that this process exists only for this one run: the
	// backend may make it a subreaper, set its own limits and close its
	// descriptors. Never set in an embedding program.
	Supervisor bool
}

// Private names the directories that sbx keeps for one workspace and user.
// They are read-write inside.
type Private struct {
	Temp  string // TMPDIR
	Cache string // XDG_CACHE_HOME and the caches of build tools
}

// Identity is the user a command runs as.
type Identity struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups"`
	Name   string   `json:"name,omitempty"` // login name, may be empty
	Home   string   `json:"home,omitempty"` // home directory, may be empty
	Why    string   `json:"why,omitempty"`  // one sentence for the result
}

// Command is one program to run. Argv is executed as it is: no shell is added.
type Command struct {
	Argv []string
	Env  []string // complete environment, "NAME=value"
	Dir  string   // absolute; empty: the workspace
	// An *os.File is handed over uncopied. Anything else is copied, and only
	// then Result.BytesOut is known. nil is the null device.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Timeout        time.Duration // wall time; 0: none
	Grace          time.Duration // between TERM and KILL; 0: 2 s
	// Layers are empty directories on disk, one for each root of the profile's
	// Preview, that take what is written, below "upper"; with Preview.Copy they
	// are copies of the roots. nil: the layers are in memory.
	Layers []string
	// Orphaned, when it is closed, ends the run: the caller went away.
	Orphaned <-chan struct{}
	// Signals are passed on to the command (in a library to its process group).
	// The sender leaves out what the terminal delivered to the command already.
	Signals <-chan os.Signal
}

// DirIn is the directory that the command starts in.
func (c Command) DirIn(p Profile) string {
	if c.Dir != "" {
		return c.Dir
	}
	return p.Workspace
}

// VariableNames lists the names of an environment of NAME=value entries.
func VariableNames(environ []string) []string {
	var names []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	return names
}

// Plan is what Run would do. It does not change after it is returned and
// prints as JSON.
type Plan struct {
	Backend  string    `json:"backend"`
	Tier     string    `json:"tier,omitempty"` // e.g. "landlock"
	Argv     []string  `json:"argv"`
	Path     string    `json:"path,omitempty"` // the file that is executed
	Dir      string    `json:"dir"`
	Env      []string  `json:"env"` // names only
	Network  string    `json:"network"`
	Write    []string  `json:"write"`
	Hide     []string  `json:"hide,omitempty"`
	Protect  []string  `json:"protect,omitempty"`
	Steps    []string  `json:"steps,omitempty"` // in the order they are executed
	Enforced []Control `json:"enforced"`
	Gaps     []Gap     `json:"gaps,omitempty"`
	Choice   *Choice   `json:"choice,omitempty"` // when nobody named one backend
}

// Gap is a control that this backend cannot give here.
type Gap struct {
	Control  Control `json:"control"`
	Why      string  `json:"why"`           // one sentence
	Fix      string  `json:"fix,omitempty"` // what would close it
	Required bool    `json:"required,omitempty"`
	Accepted bool    `json:"accepted,omitempty"`
}

// FixProtect closes HooksProtected where a profile names no files to protect, as
// that of a measurement does. Whoever names them, as an Engine does for each run,
// has no such gap.
const FixProtect = "name them as protected"

// Capabilities is what Probe measured.
type Capabilities struct {
	Backend  string    `json:"backend"`
	Tier     string    `json:"tier,omitempty"`
	Version  string    `json:"version,omitempty"` // e.g. "landlock ABI 7"
	Enforced []Control `json:"enforced"`
	Gaps     []Gap     `json:"gaps,omitempty"`
	// Apart says that a command sees an image or another machine, and of this
	// one only what the profile names.
	Apart bool `json:"apart,omitempty"`
	// Offline says why no command can have a network beyond a list of hosts. Empty:
	// it can.
	Offline string `json:"offline,omitempty"`
}

// Ending says how a run ended.
type Ending string

// The endings of a Result.
const (
	Exited     Ending = "exit"        // the command exited by itself
	Signaled   Ending = "signal"      // a signal ended it
	TimedOut   Ending = "time"        // the time limit ended it
	Abandoned  Ending = "caller-gone" // the caller went away or ctx was cancelled
	Refused    Ending = "refused"     // guard or policy; nothing ran
	NotStarted Ending = "not-started" // sbx could not start it; nothing ran
	NotFound   Ending = "not-found"   // no such program; nothing ran
	NotExec    Ending = "not-executable"
)

// Result is what happened.
type Result struct {
	Ending   Ending `json:"ending"`
	ExitCode int    `json:"exit_code"` // the command's own, 128+n after signal n
	Signal   int    `json:"signal,omitempty"`
	// Limit is the limit that was reached, in the words of the endings. It ended
	// the command when Ending is the same word; otherwise the command went on.
	Limit     Ending        `json:"limit,omitempty"`
	Backend   string        `json:"backend"`
	Tier      string        `json:"tier,omitempty"`
	Wall      time.Duration `json:"wall_ns"`
	User      time.Duration `json:"user_ns"`
	System    time.Duration `json:"system_ns"`
	PeakBytes int64         `json:"peak_memory_bytes"`   // largest process of the tree that was waited for; on Linux never below the peak of the process that started it
	BytesOut  *int64        `json:"bytes_out,omitempty"` // passed on, of both streams
	BytesCut  int64         `json:"bytes_cut,omitempty"` // thrown away past Limits.OutputBytes
	Enforced  []Control     `json:"enforced"`
	Gaps      []Gap         `json:"gaps,omitempty"`
	Identity  *Identity     `json:"identity,omitempty"`
	// BackendVersion is what the backend stands on, e.g. "landlock ABI 7, Linux 6.12.0".
	BackendVersion string `json:"backend_version,omitempty"`
	// Hosts is what went over the network, by host, as far as the sandbox was the
	// way: with NetworkRules. HostsBeyond counts what is not listed any more.
	Hosts       []HostUse `json:"hosts,omitempty"`
	HostsBeyond int64     `json:"hosts_beyond,omitempty"`
	// NetworkError says that the way out broke during the run: what the command
	// saw as refused may not have been, and the records may not be complete.
	NetworkError string `json:"network_error,omitempty"`
	// Layers is what a preview has written, one directory for each root, open for
	// reading. Who gets the Result closes them; what is in memory is gone then.
	Layers []*os.File `json:"-"`
	// Denials are the acts that were refused, as far as they were watched: those on
	// the network always, others with Profile.Explain.
	Denials       []Denial `json:"denials,omitempty"`
	DenialsBeyond int      `json:"denials_beyond,omitempty"` // further ones that are not listed
	// Choice is why this backend was used, when nobody named one.
	Choice *Choice `json:"choice,omitempty"`
	// Trust is the report on files that programs outside read or run later; nil:
	// nobody looked.
	Trust *Trust `json:"trust,omitempty"`
}
