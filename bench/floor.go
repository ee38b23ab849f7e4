//go:build linux

package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sbx-run/sbx/sandbox/filter"
)

// errNoFloor says why bench/floor is not here.
var errNoFloor = errors.New("the floor is for amd64 and needs a C compiler")

// errNoCompiler says why bench/floor/relay.c is not here.
var errNoCompiler = errors.New("it needs a C compiler")

// buildFloor compiles bench/floor into a directory and writes the programs of
// the filter beside it: that of sbx, and one that allows everything.
func buildFloor(dir string) error {
	code, err := filter.Program(filter.Base)
	if err != nil {
		return err
	}
	allow := []byte{6, 0, 0, 0, 0, 0, 0xff, 0x7f} // BPF_RET, SECCOMP_RET_ALLOW
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "base.bpf"), code, 0o644),
		os.WriteFile(filepath.Join(dir, "allow.bpf"), allow, 0o644),
	); err != nil {
		return err
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return nil
	}
	relay := exec.Command("cc", "-O2", "-D_GNU_SOURCE", "-o", filepath.Join(dir, "relay"), "bench/floor/relay.c")
	relay.Stderr = os.Stderr
	if err := relay.Run(); err != nil || runtime.GOARCH != "amd64" {
		return err
	}
	cc := exec.Command("cc", "-O2", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector",
		"-o", filepath.Join(dir, "floor"), "bench/floor/floor.c")
	cc.Stderr = os.Stderr
	return cc.Run()
}

// layer is one part of the confinement, in the words of bench/floor.
type layer struct {
	name  string
	words []string
}

// layers are all of them, in the order they are added. A second filter takes
// the place of the first.
func (o options) layers(spots []spot) ([]layer, error) {
	program, err := os.Stat(o.helper("base.bpf"))
	if err != nil {
		return nil, err
	}
	return []layer{
		{"user namespace", []string{"user"}},
		{"pid namespace", []string{"pid"}},
		{"mount namespace", []string{"mnt"}},
		{"ipc and host name namespaces", []string{"ipc", "uts"}},
		{"network namespace, lo up", []string{"net"}},
		{fmt.Sprintf("mounts: %d spots", len(spots)), append([]string{"mounts"}, floorLike(spots)...)},
		{"fresh /proc", []string{"proc"}},
		{"Landlock", []string{"landlock"}},
		{"capabilities dropped", []string{"caps"}},
		{"seccomp, 1 instruction", []string{"seccomp=" + o.helper("allow.bpf")}},
		{fmt.Sprintf("seccomp, %d instructions", program.Size()/8), []string{"seccomp=" + o.helper("base.bpf")}},
		{"process 1: one more process and exec", []string{"init"}},
	}, nil
}

// wordsOf is what bench/floor is called with for some layers.
func wordsOf(layers []layer) []string {
	var words []string
	for _, l := range layers {
		words = append(words, l.words...)
	}
	return words
}

// floorArgs is the whole confinement for bench/floor.
func (o options) floorArgs(spots []spot) ([]string, error) {
	if _, err := os.Stat(o.helper("floor")); err != nil {
		return nil, errNoFloor
	}
	layers, err := o.layers(spots)
	return wordsOf(layers), err
}

// sameFloor makes sure that the floor confines as tier full does.
func (o options) sameFloor(spots []spot) error {
	words, err := o.floorArgs(spots)
	if err != nil {
		return err
	}
	inside, err := o.mountsUnder(append(append([]string{o.helper("floor")}, words...), "--")...)
	if err != nil {
		return err
	}
	outside, err := o.mountsUnder()
	if err != nil {
		return err
	}
	made, err := spotsOf(inside, outside)
	made = slices.DeleteFunc(made, fleeting)
	if err == nil && !slices.Equal(made, spots) {
		err = fmt.Errorf("it makes other mounts than tier full: %q, not %q", floorLike(made), floorLike(spots))
	}
	return err
}

// server is a running bench/floor that starts a program when it is told to.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// serve starts it. mode is serve or trace.
func (o options) serve(mode string, words []string) (*server, error) {
	s := &server{cmd: exec.Command(o.helper("floor"), append(append([]string{mode}, words...), "--", "/bin/true")...)}
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = o.env(), o.workspace(), os.Stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	return s, s.cmd.Start()
}

func (s *server) close() error {
	_ = s.in.Close()
	return s.cmd.Wait()
}

// run asks for one start; the time is the server's.
func (s *server) run() (time.Duration, error) {
	if _, err := s.in.Write([]byte{0}); err != nil {
		return 0, err
	}
	var ns uint64
	err := binary.Read(s.out, binary.LittleEndian, &ns)
	return time.Duration(ns), err
}

// floor splits the confinement into layers: what each adds when the kernel is
// asked by a small process in C. Nothing that confines as much takes less.
func floor(w io.Writer, o options) error {
	spots, err := o.layout()
	if err != nil {
		return err
	}
	if err := o.sameFloor(spots); err != nil {
		return notHere(w, "The kernel's own floor", err)
	}
	layers, err := o.layers(spots)
	if err != nil {
		return err
	}
	sets := []layer{{"vfork and exec of /bin/true", nil}}
	for i, l := range layers {
		sets = append(sets, layer{"+ " + l.name, wordsOf(layers[:i+1])})
	}
	candidates := make([]candidate, len(sets))
	for i, set := range sets {
		s, err := o.serve("serve", set.words)
		if err != nil {
			return err
		}
		defer s.close()
		candidates[i] = candidate{name: set.name, run: s.run}
	}
	all, err := interleave(o.rounds, candidates)
	if err != nil {
		return err
	}
	printLayers(w, o, all)
	return o.trace(w, wordsOf(layers))
}

func printLayers(w io.Writer, o options, all []series) {
	fmt.Fprintf(w, "\nThe kernel's own floor, from a small running process in C, %d rounds\n", o.rounds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "median ms\tp10\tp90\tadds to p10, µs\t  what\t")
	for i, s := range all {
		adds := time.Duration(0)
		if i > 0 { // a floor is what is left when nothing disturbs
			adds = s.at(0.1) - all[i-1].at(0.1)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\t  %s\n", ms(s.median()), ms(s.at(0.1)), ms(s.at(0.9)), float64(adds)/1e3, s.name)
	}
	_ = table.Flush()
	fmt.Fprintf(w, "  the whole confinement / vfork and exec alone = %.2f\n", ratio(all[len(all)-1], all[0]))
}

// trace prints what each kind of system call of the set-up takes, in the child.
func (o options) trace(w io.Writer, words []string) error {
	s, err := o.serve("trace", words)
	if err != nil {
		return err
	}
	_, err = s.in.Write(make([]byte, warmUp+o.rounds))
	_ = s.in.Close()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(s.out)
	if err := errors.Join(err, s.cmd.Wait()); err != nil {
		return err
	}
	costs, err := costsOf(string(text))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe same, system calls of the set-up, all of a kind in one run\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "median µs\tp10\tcalls\t  what\t")
	for _, c := range costs {
		if c.median() >= time.Microsecond {
			fmt.Fprintf(table, "%s\t%s\t%s\t  %s\n", us(c.median()), us(c.at(0.1)), c.calls, c.name)
		}
	}
	return table.Flush()
}

// cost is what the calls of one kind take in each run.
type cost struct {
	series
	calls string // of the last run
}

// costsOf reads what bench/floor says when it traces, the dearest first.
func costsOf(text string) ([]*cost, error) {
	var costs []*cost
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("trace: %q", line)
		}
		ns, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("trace: %w", err)
		}
		i := slices.IndexFunc(costs, func(c *cost) bool { return c.name == fields[2] })
		if i < 0 {
			i = len(costs)
			costs = append(costs, &cost{series: series{name: fields[2]}})
		}
		costs[i].times = append(costs[i].times, time.Duration(ns))
		costs[i].calls = fields[1]
	}
	for _, c := range costs {
		slices.Sort(c.times)
	}
	slices.SortStableFunc(costs, func(a, b *cost) int { return cmp.Compare(b.median(), a.median()) })
	return costs, nil
}

// notHere prints a table that this machine cannot give.
func notHere(w io.Writer, title string, why error) error {
	fmt.Fprintf(w, "\n%s: not measured here: %v\n", title, why)
	return nil
}
