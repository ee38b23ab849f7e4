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
	"path/filepath"
	"runtime/debug"
	"strconv"
)

// options say what to measure, with what.
type options struct {
	sbx    string // absolute path of the binary under test
	rounds int
	dir    string // scratch folder: helper binaries, workspace, private homes
}

// sections are the tables, in the order they are printed.
var sections = []struct {
	name string
	run  func(io.Writer, options) error
}{
	{"process", wholeProcess},
	{"startup", startUp},
	{"reading", reading},
	{"curves", curves},
	{"batch", batch},
	{"engine", engine},
	{"output", output},
	{"memory", memory},
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sbx := flags.String("sbx", "bin/sbx", "the binary to measure")
	rounds := flags.Int("rounds", defaultRounds(), "rounds of each table (default $ROUNDS, else 100)")
	only := flags.String("only", "", "one table: process, startup, reading, curves, batch, engine, output or memory")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	// The harness allocates little; a collection in mid-round would be measured.
	debug.SetGCPercent(-1)
	if err := measure(stdout, *sbx, *rounds, *only); err != nil {
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

func measure(w io.Writer, sbx string, rounds int, only string) error {
	sbx, err := filepath.Abs(sbx)
	if err != nil {
		return err
	}
	dir, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ran := false
	for _, s := range sections {
		if only != "" && only != s.name {
			continue
		}
		ran = true
		if err := s.run(w, options{sbx: sbx, rounds: rounds, dir: dir}); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if !ran {
		return fmt.Errorf("no table %q", only)
	}
	return nil
}

// scratch makes the folder of a run: the helper programs in it are built the
// way sbx is, and sbx keeps its private directories there too.
func scratch() (string, error) {
	dir, err := os.MkdirTemp("", "sbx-bench-")
	if err != nil {
		return "", err
	}
	for _, sub := range []string{"ws", "tmp", "cache", "state", "pepe"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return "", err
		}
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+"/", "./bench/empty", "./bench/spawn")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("build helper programs: %w", err)
	}
	return dir, nil
}

// env is the environment of everything that is run: the caller's, with sbx's
// own files kept in the scratch folder.
func (o options) env() []string {
	return append(os.Environ(),
		"TMPDIR="+filepath.Join(o.dir, "tmp"),
		"XDG_CACHE_HOME="+filepath.Join(o.dir, "cache"),
		"XDG_STATE_HOME="+filepath.Join(o.dir, "state"),
		"PEPE_HOME="+filepath.Join(o.dir, "pepe"),
	)
}

func (o options) workspace() string { return filepath.Join(o.dir, "ws") }

// helper is a program that scratch built.
func (o options) helper(name string) string { return filepath.Join(o.dir, name) }
