//go:build linux || darwin

package main

import (
	"os"

	"github.com/sbx-run/sbx/sandbox/proc"
)

// canReadKeys says that single keys can be read on this system.
const canReadKeys = true

// rawTerminal lets single keys be read; restore puts things back.
func rawTerminal(tty *os.File) (restore func(), err error) { return proc.KeysTerminal(tty) }
