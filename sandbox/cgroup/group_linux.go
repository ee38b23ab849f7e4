package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Want says what a group must hold. A zero field is not asked for.
type Want struct {
	MemoryBytes int64 // swap included
	Processes   int   // processes and threads
	CPU         bool  // count the time
}

// Group is the control group of one run: a directory in each hierarchy that has
// a wanted controller.
type Group struct {
	host Host
	dirs []groupDir
}

type groupDir struct {
	path        string
	v2          bool
	controllers []Controller
	lock, procs *os.File
}

// controllers lists those that are needed.
func (w Want) controllers() []Controller {
	var list []Controller
	if w.MemoryBytes > 0 {
		list = append(list, Memory)
	}
	if w.Processes > 0 {
		list = append(list, PIDs)
	}
	if w.CPU {
		list = append(list, CPU)
	}
	return list
}

// Able returns the part of w that this host gives. It finds out by making
// groups and taking them away.
func (h Host) Able(w Want) Want {
	if h.gives(w) {
		return w
	}
	var able Want
	for _, c := range w.controllers() {
		more := able
		switch c {
		case Memory:
			more.MemoryBytes = w.MemoryBytes
		case PIDs:
			more.Processes = w.Processes
		case CPU:
			more.CPU = true
		}
		if h.gives(more) {
			able = more
		}
	}
	return able
}

func (h Host) gives(w Want) bool {
	g, err := h.Make(w)
	return err == nil && g.Close() == nil
}

// Make makes a group that holds all of w, or an error and nothing.
func (h Host) Make(w Want) (*Group, error) {
	places, err := h.places(w.controllers())
	if err != nil {
		return nil, err
	}
	g := &Group{host: h}
	name := groupName()
	for _, at := range places {
		if err := g.add(at, name, w); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	return g, nil
}

// add makes the directory at one place and sets its limits.
func (g *Group) add(at place, name string, w Want) error {
	g.host.reap(at.dir)
	d := groupDir{path: filepath.Join(at.dir, name), v2: at.v2, controllers: at.controllers}
	if err := g.host.make(d.path); err != nil {
		return err
	}
	err := d.open(g.host.root)
	g.dirs = append(g.dirs, d)
	if err == nil {
		err = g.limit(d, w)
	}
	return err
}

// open takes the lock and the file by which processes enter.
func (d *groupDir) open(root string) error {
	var err error
	if d.lock, err = os.Open(root + d.path); err != nil {
		return err
	}
	if err = unix.Flock(int(d.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", d.path, err)
	}
	d.procs, err = os.OpenFile(root+filepath.Join(d.path, "cgroup.procs"), os.O_WRONLY, 0)
	return err
}

// setting is one file to write. Those that not every kernel has may be absent.
type setting struct {
	file, value string
	optional    bool
}

func (d groupDir) settings(w Want) []setting {
	var list []setting
	for _, c := range d.controllers {
		memory, processes := strconv.FormatInt(w.MemoryBytes, 10), strconv.Itoa(w.Processes)
		switch {
		case c == Memory && d.v2:
			list = append(list, setting{"memory.max", memory, false}, setting{"memory.swap.max", "0", true}, setting{"memory.oom.group", "1", true})
		case c == Memory:
			list = append(list, setting{"memory.limit_in_bytes", memory, false}, setting{"memory.memsw.limit_in_bytes", memory, true})
		case c == PIDs:
			list = append(list, setting{"pids.max", processes, false})
		}
	}
	return list
}

func (g *Group) limit(d groupDir, w Want) error {
	for _, s := range d.settings(w) {
		err := writeExisting(g.host.root+filepath.Join(d.path, s.file), s.value)
		if err != nil && !(s.optional && errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("set %s: %w", s.file, err)
		}
	}
	return nil
}

func writeExisting(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// Doors lists the descriptors through which a process enters by writing "0".
// They close on exec.
func (g *Group) Doors() []int {
	var list []int
	for _, d := range g.dirs {
		list = append(list, int(d.procs.Fd()))
	}
	return list
}

// Has says whether the group has a controller.
func (g *Group) Has(c Controller) bool {
	_, ok := g.with(c)
	return ok
}

func (g *Group) with(c Controller) (groupDir, bool) {
	for _, d := range g.dirs {
		for _, have := range d.controllers {
			if have == c {
				return d, true
			}
		}
	}
	return groupDir{}, false
}

// Exhausted says whether the kernel ended a process of the group for want of
// memory.
func (g *Group) Exhausted() bool {
	d, ok := g.with(Memory)
	if !ok {
		return false
	}
	file := "memory.oom_control"
	if d.v2 {
		file = "memory.events"
	}
	return g.value(d, file, "oom_kill") > 0
}

// Crowded says whether a process could not be made because there were too many.
func (g *Group) Crowded() bool {
	d, ok := g.with(PIDs)
	return ok && g.value(d, "pids.events", "max") > 0
}

// CPUTime is what the group has used.
func (g *Group) CPUTime() time.Duration {
	d, _ := g.with(CPU)
	if d.v2 {
		return time.Duration(g.value(d, "cpu.stat", "usage_usec")) * time.Microsecond
	}
	return time.Duration(g.value(d, "cpuacct.usage", ""))
}

// value reads a number: that of a key, or the only one of the file.
func (g *Group) value(d groupDir, file, key string) int64 {
	text, _ := os.ReadFile(g.host.root + filepath.Join(d.path, file))
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if key == "" && len(words) == 1 || len(words) == 2 && words[0] == key {
			n, _ := strconv.ParseInt(words[len(words)-1], 10, 64)
			return n
		}
	}
	return 0
}

// longestClose bounds the wait for processes that are about to be gone.
const longestClose = 5 * time.Second

// Close ends what is left in the group and takes it away.
func (g *Group) Close() error {
	var failed error
	for _, d := range g.dirs {
		if d.procs != nil {
			_ = d.procs.Close()
		}
		failed = errors.Join(failed, g.host.remove(d.path, longestClose))
		if d.lock != nil {
			_ = d.lock.Close() // after the directory: nobody else may take it away
		}
	}
	g.dirs = nil
	return failed
}

// remove ends the processes of a group and removes its directory.
func (h Host) remove(path string, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		err := h.removeDir(path)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove control group: %w", err)
		}
		h.kill(path)
		time.Sleep(pause)
	}
}

// kill sends KILL to all processes of a group.
func (h Host) kill(path string) {
	if writeExisting(h.root+filepath.Join(path, "cgroup.kill"), "1") == nil {
		return
	}
	text, _ := os.ReadFile(h.root + filepath.Join(path, "cgroup.procs"))
	for word := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 && pid != os.Getpid() {
			killMember(pid, filepath.Base(path))
		}
	}
}

// killMember kills a process if it is in the group of that name: its number may
// be another's by now.
func killMember(pid int, group string) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if strings.Contains(string(text), "/"+group+"\n") {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

func (h Host) make(path string) error {
	if h.mkdir != nil {
		return h.mkdir(h.root + path)
	}
	return os.Mkdir(h.root+path, 0o755)
}

func (h Host) removeDir(path string) error {
	if h.rmdir != nil {
		return h.rmdir(h.root + path)
	}
	return unix.Rmdir(h.root + path)
}
