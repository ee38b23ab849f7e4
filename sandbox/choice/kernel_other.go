//go:build !linux

package choice

import "runtime"

// kernelFacts are few where nothing but programs is looked for.
func kernelFacts() []string { return []string{runtime.GOOS, runtime.GOARCH} }
