package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// measurement is what the processes of a run use at one moment.
type measurement struct {
	pids     []int
	tasks    int           // processes and threads, process 1 of a pid namespace left out
	cpu      time.Duration // with that of children that were waited for
	anon     int64         // bytes of memory and swap that hold no file; what several share counts for each
	shared   int64         // the same of shared memory and of files in memory
	nameless int64         // files in memory that have no name (memfd_create(2)) and are open
	written  int64         // bytes that went or will go to a disk
}

// member is a process of a run.
type member struct {
	pid  int
	init bool // ours: it counts as no process of the command's
}

// clockTick is the unit of times in /proc/PID/stat. It is 100 Hz on every
// architecture that sbx is built for.
const clockTick = time.Second / 100

// Fields of /proc/PID/stat behind the name, counted from 0 (proc_pid_stat(5)).
const (
	statState   = 0
	statParent  = 1
	statGroup   = 2
	statUser    = 11 // utime, stime, cutime, cstime
	statThreads = 17
)

// measure adds up what the processes say of themselves. Those that have ended
// meanwhile count nothing.
func measure(all []member, l sandbox.Limits) measurement {
	var m measurement
	seen := map[uint64]bool{}
	for _, p := range all {
		fields := statOf(p.pid)
		if fields == nil {
			continue
		}
		for i := range 4 {
			m.cpu += time.Duration(number(fields[statUser+i])) * clockTick
		}
		if l.DiskBytes > 0 {
			m.written += writtenBy(p.pid)
		}
		if p.init {
			continue
		}
		m.tasks += int(max(number(fields[statThreads]), 1)) // one that nobody waited for yet takes a number, too
		if fields[statState][0] == 'Z' {
			continue
		}
		m.pids = append(m.pids, p.pid)
		if l.MemoryBytes > 0 {
			anon, shared := memoryOf(p.pid)
			m.anon, m.shared = m.anon+anon, m.shared+shared
			m.nameless += namelessOf(p.pid, seen)
		}
	}
	return m
}

// over says whether the processes hold more than limit, with inTemp bytes in
// file systems of the run. Pages that several processes share after a fork are
// counted once: that costs more to find out, so it is done only when the simple
// sum is too large. Shared memory may be the content of files or not; the larger
// of the two counts.
func (m measurement) over(limit, inTemp int64) bool {
	inFiles := inTemp + m.nameless
	if m.anon+max(m.shared, inFiles) <= limit {
		return false
	}
	anon, shared := m.parts(nil)
	if a, s := sum(anon), sum(shared); a+max(s, inFiles) <= limit {
		return false
	}
	// While it is read one after the other, processes end, and their parts go to
	// those that are read later; or they begin, and take parts of what was read. So
	// it is read again, and of each process the smaller part counts.
	again, sharedAgain := m.parts(anon)
	return sum(again)+max(sum(sharedAgain), inFiles) > limit
}

func sum(parts []int64) (total int64) {
	for _, p := range parts {
		total += p
	}
	return total
}

// parts are what each process holds alone, and its part of what it shares, in
// bytes: of memory, and of shared memory. None is more than it was before.
func (m measurement) parts(before []int64) (anon, shared []int64) {
	for i, pid := range m.pids {
		v := valuesIn("/proc/"+strconv.Itoa(pid)+"/smaps_rollup", "Pss_Anon:", "SwapPss:", "Pss_Shmem:")
		if v[0]+v[1]+v[2] == 0 { // it does not let us look
			v[0], v[2] = memoryOf(pid)
			v[0], v[2] = v[0]>>10, v[2]>>10
		}
		one := (v[0] + v[1]) << 10
		if before != nil {
			one = min(one, before[i])
		}
		anon, shared = append(anon, one), append(shared, v[2]<<10)
	}
	return anon, shared
}

// memoryOf is what a process holds of memory and swap, in bytes, without files
// that lie on a disk.
func memoryOf(pid int) (anon, shared int64) {
	v := valuesIn("/proc/"+strconv.Itoa(pid)+"/status", "RssAnon:", "VmSwap:", "RssShmem:")
	return (v[0] + v[1]) << 10, v[2] << 10
}

// namelessOf is what lies in the nameless files in memory that a process has
// open, without those seen at another one.
func namelessOf(pid int, seen map[uint64]bool) int64 {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	f, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	var total int64
	for _, name := range names {
		to, err := os.Readlink(dir + "/" + name)
		if err != nil || !strings.HasPrefix(to, "/memfd:") {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(dir+"/"+name, &st) == nil && !seen[st.Ino] {
			seen[st.Ino] = true
			total += st.Blocks * 512
		}
	}
	return total
}

// writtenBy counts what a process and the children that it waited for wrote to
// file systems that lie on a disk, whether it has got there yet or not.
func writtenBy(pid int) int64 {
	return valuesIn("/proc/"+strconv.Itoa(pid)+"/io", "write_bytes:")[0]
}

// valuesIn reads the numbers behind keys at the beginning of a line.
func valuesIn(file string, keys ...string) (found [3]int64) {
	text, err := os.ReadFile(file)
	if err != nil {
		return found
	}
	for i, key := range keys {
		at := bytes.Index(text, append([]byte{'\n'}, key...))
		if at < 0 {
			continue
		}
		if fields := bytes.Fields(text[at+1+len(key):]); len(fields) > 0 {
			found[i] = number(fields[0])
		}
	}
	return found
}

// statOf reads the fields of /proc/PID/stat behind the name; nil when the
// process is gone.
func statOf(pid int) [][]byte {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= statThreads {
		return nil
	}
	return fields
}

func number(b []byte) int64 {
	n, _ := strconv.ParseInt(string(b), 10, 64)
	return n
}

// below lists the descendants of some processes, and those too.
func below(pids []int) []int {
	for i := 0; i < len(pids); i++ {
		pids = append(pids, childrenOf(pids[i])...)
	}
	return pids
}

func membersOf(pids []int) []member {
	list := make([]member, len(pids))
	for i, pid := range pids {
		list[i] = member{pid: pid}
	}
	return list
}

// groupMembers lists the processes of a process group and their descendants. It
// goes through all processes of the host.
func groupMembers(leader int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	ours := map[int]bool{leader: true}
	parents := map[int]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if fields := statOf(pid); fields != nil {
			parents[pid] = int(number(fields[statParent]))
			ours[pid] = ours[pid] || int(number(fields[statGroup])) == leader
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, parent := range parents {
			if !ours[pid] && ours[parent] {
				ours[pid], grown = true, true
			}
		}
	}
	var list []int
	for pid, is := range ours {
		if is {
			list = append(list, pid)
		}
	}
	return list
}
