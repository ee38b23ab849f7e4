//go:build !linux

package main

import (
	"os"
	"time"
)

// watchCaller returns a channel that is closed when the parent has ended.
func watchCaller() <-chan struct{} {
	gone := make(chan struct{})
	parent := os.Getppid()
	go func() {
		for os.Getppid() == parent {
			time.Sleep(200 * time.Millisecond)
		}
		close(gone)
	}()
	return gone
}
