//go:build linux

// Command bench measures what the speed targets speak of, in one run: rounds in
// which every candidate runs once, then medians and their ratios. It asserts
// nothing: times depend on the machine, ratios much less.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// options say what to measure, with what.
type options struct {
	sbx    string // absolute path of the binary under test
	rounds int
	dir    string // scratch folder: workspace, private homes
	bin    string // the helper programs
	guest  bool   // this is the run as an ordinary user within one as root
}

// section is a table or a few that belong together.
type section struct {
	name string
	run  func(io.Writer, options) error
	slow bool // takes many minutes: only when it is asked for
}

// sections are in the order they are printed.
func sections() []section {
	return []section{
		{name: "process", run: wholeProcess},
		{name: "startup", run: startUp},
		{name: "choosing", run: choosing},
		{name: "programs", run: programs},
		{name: "reading", run: reading},
		{name: "decision", run: decision},
		{name: "curves", run: curves},
		{name: "batch", run: batch},
		{name: "engine", run: engine},
		{name: "tree", run: trees},
		{name: "floor", run: floor},
		{name: "crowd", run: crowd},
		{name: "paths", run: extraPaths},
		{name: "build", run: build},
		{name: "denials", run: denials, slow: true},
		{name: "output", run: output},
		{name: "redact", run: redactSpeed},
		{name: "container", run: container},
		{name: "ssh", run: overSSH},
		{name: "container-others", run: containerOthers},
		{name: "container-crowd", run: manyContainers},
		{name: "container-others-crowd", run: manyOthers},
		{name: "container-output", run: containerOutput},
		{name: "network", run: network},
		{name: "line", run: line},
		{name: "memory", run: memory},
		{name: "user", run: asUser},
	}
}

// userSections are measured again as an ordinary user.
const userSections = "process,engine,floor"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sbx := flags.String("sbx", "bin/sbx", "the binary to measure")
	rounds := flags.Int("rounds", defaultRounds(), "rounds of each table (default $ROUNDS, else 100)")
	only := flags.String("only", "", "these sections, by comma: "+strings.Join(names, ", "))
	guest := flags.String("guest", "", "the scratch folder that a run as root has made for this one")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	chosen := strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			fmt.Fprintf(stderr, "bench: error: no section %q; there are: %s\n", name, strings.Join(names, ", "))
			return 2
		}
	}
	// The harness allocates little; a collection in mid-round would be measured.
	debug.SetGCPercent(-1)
	if err := measure(stdout, *sbx, *rounds, chosen, *guest); err != nil {
		fmt.Fprintln(stderr, "bench: error:", err)
		return 1
	}
	return 0
}

func defaultRounds() int {
	if n, err := strconv.Atoi(os.Getenv("ROUNDS")); err == nil && n > 0 {
		return n
	}
	return 100
}

func measure(w io.Writer, sbx string, rounds int, only []string, guest string) error {
	o := options{rounds: rounds, dir: guest, guest: guest != ""}
	o.bin = filepath.Join(filepath.Dir(guest), "bin")
	if !o.guest {
		top, err := scratch(sbx)
		if err != nil {
			return err
		}
		defer os.RemoveAll(top)
		interrupted(func() { os.RemoveAll(top) })
		o.dir, o.bin = filepath.Join(top, "self"), filepath.Join(top, "bin")
	}
	o.sbx = o.helper("sbx")
	if !o.guest {
		o.machine(w)
		defer func() { fmt.Fprintf(w, "\nLoad of the machine at the end: %s\n", load()) }()
	}
	for _, s := range sections() {
		if len(only) > 0 && !slices.Contains(only, s.name) || len(only) == 0 && s.slow {
			continue
		}
		if err := s.run(w, o); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// interrupted leaves nothing behind when somebody has enough of waiting.
func interrupted(clean func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		sig := <-signals
		clean()
		fmt.Fprintln(os.Stderr, "bench: error: interrupted:", sig)
		os.Exit(1)
	}()
}

// machine says what was measured where. A load above that of this program makes
// the tools that sleep during their set-up look worse than they are.
func (o options) machine(w io.Writer) {
	version, _ := exec.Command(o.sbx, "--version").Output()
	first, _, _ := strings.Cut(string(version), "\n")
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	fmt.Fprintf(w, "%s; Linux %s, %d processors, load %s\n", first, strings.TrimSpace(string(release)), runtime.NumCPU(), load())
}

// load is the load average of one minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// scratch makes the folder of a run. It does not lie below a temp directory:
// workspaces seldom do, and what is there is mounted in another way.
func scratch(sbx string) (string, error) {
	base := "/var/cache"
	if os.Geteuid() != 0 {
		var err error
		if base, err = os.UserCacheDir(); err != nil {
			return "", err
		}
		if err := os.MkdirAll(base, 0o700); err != nil {
			return "", err
		}
	}
	top, err := os.MkdirTemp(base, "sbx-bench-")
	if err != nil {
		return "", err
	}
	if top, err = filepath.EvalSymlinks(top); err == nil {
		if err = os.Chmod(top, 0o755); err == nil {
			err = furnish(filepath.Join(top, "self"))
		}
	}
	if err == nil {
		err = helpers(filepath.Join(top, "bin"), sbx)
	}
	if err != nil {
		os.RemoveAll(top)
		return "", fmt.Errorf("prepare %s: %w", top, err)
	}
	return top, nil
}

// furnish makes the directories of somebody who runs sbx.
func furnish(dir string) error {
	for _, sub := range []string{"ws", "tmp", "cache", "state", "pepe"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "nothing"), nil, 0o400)
}

// helpers makes the programs that are measured, the way sbx is built, and puts
// them with copies of sbx and of this program into bin. All are copied: what a
// linker has just written lies in the page cache in small pieces, and starting
// from there takes up to a quarter longer than from a file that was copied.
func helpers(bin, sbx string) error {
	made := bin + ".made"
	for _, dir := range []string{bin, made} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", made+"/",
		"./bench/empty", "./bench/spawn", "./bench/netclient", "./cmd/sbx-proxy", "./cmd/sbx-init", "./cmd/sbx-backend-docker",
		"./cmd/sbx-backend-podman", "./cmd/sbx-backend-containerd")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build helper programs: %w", err)
	}
	if err := buildFloor(made); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	files := map[string]string{"sbx": sbx, "bench": self}
	list, err := os.ReadDir(made)
	if err != nil {
		return err
	}
	for _, file := range list {
		files[file.Name()] = filepath.Join(made, file.Name())
	}
	for name, from := range files {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(bin, name), content, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// env is the environment of everything that is run: the caller's, with sbx's
// own files kept in the scratch folder.
func (o options) env() []string {
	more := []string{
		"TMPDIR=" + filepath.Join(o.dir, "tmp"),
		"XDG_CACHE_HOME=" + filepath.Join(o.dir, "cache"),
		"XDG_STATE_HOME=" + filepath.Join(o.dir, "state"),
		"PEPE_HOME=" + filepath.Join(o.dir, "pepe"),
	}
	if o.guest {
		more = append(more, "HOME="+o.dir)
	}
	return (&exec.Cmd{Env: append(os.Environ(), more...)}).Environ() // the last of a name counts
}

func (o options) workspace() string { return filepath.Join(o.dir, "ws") }
func (o options) emptyFile() string { return filepath.Join(o.dir, "nothing") }

// helper is a program or a file that helpers made.
func (o options) helper(name string) string { return filepath.Join(o.bin, name) }

// who stands in the titles of what is measured as root and as somebody else.
func (o options) who() string {
	if os.Geteuid() == 0 {
		return "as root"
	}
	return "as an ordinary user"
}
