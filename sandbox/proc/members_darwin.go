package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// members lists what the command, which may have ended, started in a group that it
// shares with us and perhaps with the other programs of a pipe: its descendants,
// and those whose parents have ended. The programs of a pipe have a parent.
func members(group, command int) []int {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return nil
	}
	parent := map[int]int{}
	for _, p := range list {
		parent[int(p.Proc.P_pid)] = int(p.Eproc.Ppid)
	}
	own, orphans := unix.Getpid(), unix.Getppid() != 1
	var found []int
	for pid := range parent {
		for at := pid; at != own && at != 0; at = parent[at] {
			if at == command || orphans && parent[at] == 1 {
				found = append(found, pid)
				break
			}
		}
	}
	return found
}

// peakBytes of macOS is in bytes.
func peakBytes(usage *syscall.Rusage) int64 { return usage.Maxrss }
