//go:build !linux

package main

import "runtime"

// namespaceProbe is of Linux.
const namespaceProbe = "__namespace"

func tryMount() int { return exitNotStarted }

func (c *doctorCall) kernel() {
	c.add(levelNote, "what is looked at in the kernel is of Linux; this is "+runtime.GOOS, "")
}
