package direct

// Variants of the backend for tests.

// NewTier returns a backend that tries one tier alone.
func NewTier(tier string) *Backend { return &Backend{variant{tier: tier}} }

// NewThread returns the landlock tier by way of a restricted thread, which
// other architectures use.
func NewThread() *Backend { return &Backend{variant{tier: tierLandlock, thread: true}} }

// Without leaves a layer out.
func Without(tier string, l layer) *Backend { return &Backend{variant{tier: tier, without: l}} }

// Layers.
const (
	Landlock = layerLandlock
	Seccomp  = layerSeccomp
	Mounts   = layerMounts
)
