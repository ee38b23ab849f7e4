package sandbox

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestUntilSignaled(t *testing.T) {
	signals := make(chan os.Signal, 1)
	ctx, stop := UntilSignaled(t.Context(), signals)
	stop()
	signals <- syscall.SIGTERM
	if len(signals) != 1 || context.Cause(ctx) != context.Canceled {
		t.Errorf("after stop: %d signals, %v", len(signals), context.Cause(ctx))
	}
	ctx, stop = UntilSignaled(t.Context(), signals)
	<-ctx.Done()
	stop()
	if err := context.Cause(ctx); !strings.Contains(err.Error(), "ended by the signal") {
		t.Error(err)
	}
	ctx, stop = UntilSignaled(t.Context(), nil)
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	stop()
}
