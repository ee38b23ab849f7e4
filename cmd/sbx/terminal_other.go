//go:build !unix

package main

import "os"

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// terminalSize is what a terminal has at least.
func terminalSize(*os.File) (columns, rows int) { return 80, 24 }
