//go:build !unix

package main

import (
	"context"
	"os"
	"os/signal"
)

// untilTold ends when somebody ends sbx, which then takes away what it made.
func untilTold() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt)
}

// forwarded is the stream of signals that are passed on to the command.
func forwarded() (signals <-chan os.Signal, ready <-chan struct{}) {
	in := make(chan os.Signal, 16)
	signal.Notify(in, os.Interrupt)
	return in, nil
}
