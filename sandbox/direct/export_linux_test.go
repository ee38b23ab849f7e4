package direct

// Variants of the backend for tests.

// NewTier returns a backend that tries one tier alone.
func NewTier(tier string) *Backend { return &Backend{variant{tier: tier}} }

// NewThread returns the landlock tier by way of a restricted thread, which
// other architectures use.
func NewThread() *Backend { return &Backend{variant{tier: tierLandlock, thread: true}} }

// Leaving leaves out the steps that omit picks, and the namespaces of share.
func Leaving(tier string, thread bool, omit func(step string) bool, share uintptr) *Backend {
	return &Backend{variant{tier: tier, thread: thread, omit: omit, share: share}}
}

// NewUngrouped returns one tier alone, as on a host where no control group can
// be made.
func NewUngrouped(tier string) *Backend { return &Backend{variant{tier: tier, ungrouped: true}} }
