// Package pid1 is the first process of the containers that sbx makes, and how
// the host talks to it. The container gets the program (cmd/sbx-init) and a
// socket as read-only mounts. The process connects to the socket, takes an
// order with the command's three streams as descriptors, runs the command and
// answers how it ended. So nothing copies the output, the engine never sees the
// environment, an exit status is the command's own, and when the host's end of
// the connection goes away, by whatever signal, the process ends with all that
// it started.
package pid1

import (
	"os"
	"time"

	"github.com/sbx-run/sbx/sandbox"
)

// Where things are inside the container.
const (
	Program    = "/.sbx-init" // the program
	SocketDir  = "/.sbx"      // holds the socket
	SocketName = "socket"
)

// The first argument of the program.
const (
	ModeOnce  = "once"  // run one command, then end
	ModeServe = "serve" // take connections, one for each command
	modeExec  = "exec"  // one command of a serving process
)

// Order is one command. The environment's PATH is the image's, whatever Env says.
type Order struct {
	Argv    []string      `json:"argv"`
	Env     []string      `json:"env"`
	Dir     string        `json:"dir"`
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	Grace   time.Duration `json:"grace_ns,omitempty"`
	Filters []string      `json:"filters"` // parts of a program of package filter
	// Limits are kept inside, except for memory and processes: the engine holds
	// the container to those.
	Limits sandbox.Limits `json:"limits,omitzero"`
	// Terminal says which of the three streams are to be a terminal that is made
	// inside; its other end comes back as a descriptor.
	Terminal [3]bool `json:"terminal"`
	// Listener says that the host wants a listener for the command's proxy first.
	Listener bool   `json:"listener,omitempty"`
	Rows     uint16 `json:"rows,omitempty"`
	Columns  uint16 `json:"columns,omitempty"`
	// Places are what the command may see of the host. The engine mounts by name,
	// and a name can come to mean something else before it does.
	Places []Place `json:"places,omitempty"`
}

// Place is a file or directory by its name and what it was on the host.
type Place struct {
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Setting is what holds for every command of a container.
type Setting struct {
	Dir     string         `json:"dir"`     // where a command starts that does not say
	Filters []string       `json:"filters"` // as in Order
	Places  []Place        `json:"places"`
	Limits  sandbox.Limits `json:"limits,omitzero"`
	// Serve gets the listener of the command's proxy and returns when the proxy
	// serves it. nil: there is none.
	Serve func(listener *os.File) error `json:"-"`
}

// Answer is what came of an order.
type Answer struct {
	Result sandbox.Result `json:"result"`
	// Error is not empty when the command could not be started, or, with Lost,
	// when its outcome is unknown.
	Error string `json:"error,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
}

// Service is how a serving process behaves.
type Service struct {
	Idle time.Duration `json:"idle_ns,omitempty"` // ends after so long without a command; 0: never
	Hold bool          `json:"hold,omitempty"`    // ends with the connection that set it up
}

// message is what goes over a connection. One field is set.
type message struct {
	Order   *Order   `json:"order,omitempty"`   // with three descriptors
	Service *Service `json:"service,omitempty"` // with a listening socket
	Signal  int      `json:"signal,omitempty"`  // for the command
	End     bool     `json:"end,omitempty"`     // end it: the caller is gone
	Answer  *Answer  `json:"answer,omitempty"`
	Ready   bool     `json:"ready,omitempty"` // with the host's end of the terminal, if one was asked for
	// Listener comes with one, and is answered with Ready when it is served.
	Listener bool `json:"proxy_listener,omitempty"`
}
