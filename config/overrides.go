package config

import (
	"fmt"
	"strings"
)

// Overrides are the PEPE_SANDBOX_ variables. They win over the file, flags win
// over them. "" is not set.
type Overrides struct {
	Network string `json:"network,omitempty"` // "on", "off" or "allow:…"
	Memory  *int64 `json:"memory,omitempty"`  // bytes; 0: no limit
	// For container backends, handed on as they are.
	Image   string `json:"image,omitempty"`
	CPUs    string `json:"cpus,omitempty"`
	Runtime string `json:"runtime,omitempty"`
	// For the backend ssh: see SSH.
	SSHHost      string `json:"ssh_host,omitempty"`
	SSHWorkspace string `json:"ssh_workspace,omitempty"`
	SSHOptions   string `json:"ssh_options,omitempty"`
	SSHDir       string `json:"ssh_dir,omitempty"`
}

// ReadOverrides reads the variables. It is pure but for getenv.
func ReadOverrides(getenv func(string) string) (Overrides, error) {
	o := Overrides{
		Image:   getenv("PEPE_SANDBOX_IMAGE"),
		CPUs:    getenv("PEPE_SANDBOX_CPUS"),
		Runtime: getenv("PEPE_SANDBOX_RUNTIME"),

		SSHHost:      getenv("PEPE_SANDBOX_SSH_HOST"),
		SSHWorkspace: getenv("PEPE_SANDBOX_SSH_WORKSPACE"),
		SSHOptions:   getenv("PEPE_SANDBOX_SSH_OPTIONS"),
		SSHDir:       getenv("PEPE_SANDBOX_SSH_DIR"),
	}
	if text := getenv("PEPE_SANDBOX_MEM"); text != "" {
		n, err := MemorySize(text)
		if err != nil {
			return Overrides{}, fmt.Errorf("read PEPE_SANDBOX_MEM: %w, have %q", err, text)
		}
		o.Memory = &n
	}
	switch net := getenv("PEPE_SANDBOX_NET"); {
	case net == "":
	case net == "bridge":
		o.Network = "on"
	case net == "none":
		o.Network = "off"
	case strings.HasPrefix(net, allowPrefix):
		o.Network = net
	default:
		// Other networks of container engines exist; guessing what they reach
		// would open or close the wrong thing.
		return Overrides{}, fmt.Errorf(`read PEPE_SANDBOX_NET: want "bridge", "none" or "allow:HOST,…", have %q`, net)
	}
	return o, nil
}
