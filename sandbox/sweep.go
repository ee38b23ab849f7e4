package sandbox

import "context"

// Sweeper is a Backend that may leave something outside of this process when it
// is killed: a container.
type Sweeper interface {
	// Sweep lists what nobody uses any more of this user's, by the backend's names
	// for it, and removes it when told to.
	Sweep(ctx context.Context, remove bool) ([]string, error)
}
