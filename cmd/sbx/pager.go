package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// paged writes through the caller's pager when out is a terminal, else directly.
func (s *streams) paged(out *os.File, roots []string, write func(io.Writer) error) error {
	argv := pager(os.Getenv, roots)
	if !isTerminal(out) || len(argv) == 0 {
		return write(out)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // end at once when it fits, show colours, leave it on the screen
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return write(out)
	}
	if err := cmd.Start(); err != nil {
		return write(out)
	}
	err = write(pipe)
	pipe.Close()
	_ = cmd.Wait() // its own exit says nothing about us
	if errors.Is(err, syscall.EPIPE) {
		return nil // the reader has seen enough
	}
	return err
}

// pager is the program that $PAGER names, or less. It runs outside the sandbox,
// so it is never one that a command could have put into the search path: not
// from a relative entry, nor from below a directory that commands write to.
func pager(getenv func(string) string, roots []string) []string {
	words := strings.Fields(getenv("PAGER"))
	if len(words) == 0 {
		words = []string{"less"}
	}
	if words[0] == "cat" {
		return nil
	}
	if filepath.IsAbs(words[0]) {
		return words
	}
	if strings.ContainsRune(words[0], '/') {
		return nil
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		real, err := filepath.EvalSymlinks(dir)
		written := slices.ContainsFunc(roots, func(root string) bool { return real == root || strings.HasPrefix(real, root+"/") })
		if err != nil || !filepath.IsAbs(dir) || written {
			continue
		}
		at := filepath.Join(real, words[0])
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return append([]string{at}, words[1:]...)
		}
	}
	return nil
}
