package sandbox

import (
	"context"
	"fmt"
	"os"
)

// UntilSignaled is for what goes on before there is a command that signals could be
// passed to, such as fetching an image: a context that a signal ends, too. As for a
// program that has just begun, each signal means the end. When stop has returned,
// signals are the command's.
func UntilSignaled(ctx context.Context, signals <-chan os.Signal) (signaled context.Context, stop func()) {
	signaled, cancel := context.WithCancelCause(ctx)
	if signals == nil {
		return signaled, func() { cancel(nil) }
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case sig, ok := <-signals:
			if ok {
				cancel(fmt.Errorf("ended by the signal %q", sig))
			}
		case <-over:
		}
	}()
	return signaled, func() {
		close(over)
		<-ended
		cancel(nil)
	}
}
