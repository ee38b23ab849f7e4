//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/sbx-run/sbx/bench/corpus"
)

// batchLines is the least number of lines of one batch: files with fewer
// commands are repeated, so that the start of the process does not decide.
const batchLines = 10_000

// batch measures sbx check --batch on each file of the corpus: commands for
// each second of processor time, which is what one core does.
func batch(w io.Writer, o options) error {
	const target = 20_000
	files, err := corpus.Files(corpus.Dir())
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nsbx check --batch, best of 3, commands for each second of one core (target at least %d)\n", target)
	for _, file := range files {
		commands, err := corpus.Read(file)
		if err != nil {
			return err
		}
		if len(commands) == 0 {
			continue
		}
		var input bytes.Buffer
		enc := json.NewEncoder(&input)
		lines := 0
		for ; lines < batchLines || lines%len(commands) != 0; lines++ {
			if err := enc.Encode(map[string]any{"id": lines, "cmd": commands[lines%len(commands)]}); err != nil {
				return err
			}
		}
		best := 0.0
		for range 3 {
			rate, err := o.batchRate(input.Bytes(), lines)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			best = max(best, rate)
		}
		fmt.Fprintf(w, "  %8.0f  %s (%d commands: %s)\n", best, filepath.Base(file), len(commands), verdict(best >= target))
	}
	return nil
}

func (o options) batchRate(input []byte, commands int) (float64, error) {
	var out bytes.Buffer
	cmd := exec.Command(o.sbx, "check", "--batch", "--cwd", "/home/dev/app", "--home", "/home/dev")
	cmd.Env, cmd.Dir = o.env(), o.workspace()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	if lines := bytes.Count(out.Bytes(), []byte{'\n'}); lines != commands {
		return 0, fmt.Errorf("%d answers to %d commands", lines, commands)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, fmt.Errorf("the system does not tell processor time")
	}
	seconds := float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	return float64(commands) / seconds, nil
}
