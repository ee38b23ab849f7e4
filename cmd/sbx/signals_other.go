//go:build !unix

package main

import (
	"os"
	"os/signal"
)

// forwarded is the stream of signals that are passed on to the command.
func forwarded() (signals <-chan os.Signal, ready <-chan struct{}) {
	in := make(chan os.Signal, 16)
	signal.Notify(in, os.Interrupt)
	return in, nil
}
