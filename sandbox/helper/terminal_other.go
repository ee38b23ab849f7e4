//go:build !unix

package helper

import (
	"os"
	"os/signal"
)

// Descriptors are handed over one by one here.
func closeOnExec(int) {}

// fromTerminal passes an interrupt on.
func fromTerminal(to chan<- os.Signal) (stop func()) {
	signal.Notify(to, os.Interrupt)
	return func() { signal.Stop(to) }
}
