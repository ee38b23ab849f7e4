package sandbox

// Container says how the backends that run commands in containers make them.
// Other backends do not look at it.
type Container struct {
	Image string  `json:"image,omitempty"` // empty: DefaultImage
	CPUs  float64 `json:"cpus,omitempty"`  // processors at a time; 0: 1
	// Runtime is an OCI runtime by the name that the engine knows it by; empty:
	// the engine's own choice.
	Runtime string `json:"runtime,omitempty"`
	// Host is the engine's address, as in DOCKER_HOST. Empty: what the engine's
	// own command line would use.
	Host string `json:"host,omitempty"`
	// Local says that Host, although it does not look so, is an engine of this
	// machine, which sees the same files.
	Local bool `json:"local,omitempty"`
	// Options are further options of the engine's run command, as a shell would
	// read them. Those that widen what a command may do are refused.
	Options string `json:"options,omitempty"`
	// NoPull refuses a command whose image is missing, instead of fetching it.
	NoPull bool `json:"no_pull,omitempty"`
}

// What containers get when the profile does not say.
const (
	DefaultImage           = "python:3.12-slim"
	DefaultContainerMemory = 512 << 20 // bytes
	DefaultContainerCPUs   = 1
	DefaultContainerPIDs   = 256
)
