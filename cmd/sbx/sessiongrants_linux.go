package main

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// terminalSession tells the sessions of terminals apart, also when a number is
// used again: the leader's number, and when it began. It is "" when the leader is
// no more.
func terminalSession() string {
	id, err := unix.Getsid(0)
	if err != nil || id == 0 || id == os.Getpid() { // it ends with this command
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if err != nil {
		return ""
	}
	const started = 22 - 3 // of proc_pid_stat(5), after the name
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) <= started {
		return ""
	}
	return "terminal " + strconv.Itoa(id) + " " + fields[started] + " " + strings.TrimSpace(string(boot))
}
