package direct

// Variants of the backend for tests.

// NewTier returns a backend that tries one tier alone.
func NewTier(tier string) *Backend { return &Backend{variant{tier: tier}} }

// NewThread returns the landlock tier by way of a restricted thread, which
// other architectures use.
func NewThread() *Backend { return &Backend{variant{tier: tierLandlock, thread: true}} }

// WithoutLayers leaves layers out.
func WithoutLayers(tier string, layers uint) *Backend {
	return &Backend{variant{tier: tier, without: layer(layers)}}
}

// Layers.
const (
	Landlock  = uint(layerLandlock)
	Seccomp   = uint(layerSeccomp)
	Mounts    = uint(layerMounts)
	Namespace = uint(layerNamespace)
)
