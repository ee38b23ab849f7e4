//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// untilTold ends when somebody ends sbx, which then takes away what it made. What
// the caller ignores (nohup) stays ignored.
func untilTold() (context.Context, context.CancelFunc) {
	heard := []os.Signal{unix.SIGINT, unix.SIGTERM}
	if !signal.Ignored(unix.SIGHUP) { // the terminal is closed
		heard = append(heard, unix.SIGHUP)
	}
	return signal.NotifyContext(context.Background(), heard...)
}

// forwarded is the stream of signals that are passed on to the command, which
// is in our process group. What the caller ignores (nohup) stays ignored, for
// the command as well.
//
// The runtime changes threads twice for each signal that is asked for, which
// takes as long as reading and preparing the command: it happens meanwhile, and
// ready is closed then. A signal that comes earlier ends sbx.
func forwarded() (signals <-chan os.Signal, ready <-chan struct{}) {
	out, asked := make(chan os.Signal, 16), make(chan struct{})
	go func() {
		in := make(chan os.Signal, 16)
		var heard []os.Signal
		for _, sig := range [...]unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2} {
			if !signal.Ignored(sig) {
				heard = append(heard, sig)
			}
		}
		if len(heard) > 0 { // an empty list would mean all signals
			signal.Notify(in, heard...)
		}
		close(asked)
		for sig := range in {
			if !fromTerminal(sig) {
				out <- sig
			}
		}
	}()
	return out, asked
}

// fromTerminal reports a signal that the terminal sent, which it did to each
// process of the group in the foreground.
func fromTerminal(sig os.Signal) bool {
	if sig != unix.SIGINT && sig != unix.SIGQUIT && sig != unix.SIGHUP {
		return false
	}
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
