//go:build linux && !amd64 && !arm64

package direct

// namespaceTiers is empty: package spawn has no assembly for this architecture
// yet.
func namespaceTiers() []tier { return nil }
