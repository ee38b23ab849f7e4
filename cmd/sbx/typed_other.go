//go:build !linux

package main

import "os"

// forgetTyped does nothing: only Linux has previews.
func forgetTyped(*os.File) {}
