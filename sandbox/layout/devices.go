package layout

// Device is a node below /dev that programs need. Everything else there is
// closed: to root, disks and memory would be open otherwise.
type Device struct {
	Path  string
	Write bool
	node  bool // a device node, not a directory of them or a door to one
	why   string
}

// Devices lists them.
func Devices() []Device {
	return []Device{
		{"/dev/null", true, true, "everywhere"},
		{"/dev/zero", true, true, "dd, old allocators"},
		{"/dev/full", true, true, "tests of error paths"},
		{"/dev/random", false, true, "random numbers"},
		{"/dev/urandom", false, true, "random numbers"},
		{"/dev/tty", true, true, "prompts; the terminal it stands for is the caller's"},
		{"/dev/ptmx", true, false, "new terminals: script, expect, test runners"},
		{"/dev/pts", true, false, "their other end"},
		{"/dev/shm", true, false, "shared memory: Python multiprocessing, browsers, databases"},
	}
}

// HostProc lists the files of /proc that tell root about the host.
func HostProc() []string {
	return []string{
		"/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug",
		"/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags",
	}
}
