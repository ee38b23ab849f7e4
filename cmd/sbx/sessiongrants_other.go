//go:build !linux

package main

// terminalSession is not known here: only a named session is one.
func terminalSession() string { return "" }
