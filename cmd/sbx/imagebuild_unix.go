//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ownGroup has a program started in a process group of its own, which the terminal
// sends nothing to.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &unix.SysProcAttr{Setpgid: true} }

// endBuild ends a build. Podman, when it gets a signal, leaves what the step runs,
// and its containers. When the step ends, it clears up as after any that failed.
func endBuild(engine *os.Process) error {
	steps := apartBelow(engine.Pid)
	for _, pid := range steps {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	if len(steps) > 0 {
		return nil
	}
	return engine.Signal(unix.SIGTERM)
}

// apartBelow lists the processes that descend from one and are in a pid namespace
// of their own: those of containers.
func apartBelow(pid int) []int {
	parents := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 { // state, parent
			child, _ := strconv.Atoi(strings.Split(file, "/")[2])
			parents[child], _ = strconv.Atoi(fields[1])
		}
	}
	here, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return nil
	}
	var found []int
	for child := range parents {
		above := child
		for above > 1 && above != pid {
			above = parents[above]
		}
		if there, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", child)); above == pid && err == nil && there != here {
			found = append(found, child)
		}
	}
	return found
}
