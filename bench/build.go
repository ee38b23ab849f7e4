//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// build compares a real job, go build of sbx, confined and not. Both use the
// same warm cache: what the compiler has done before is not measured, reading
// the sources and the cache, and linking, are.
func build(w io.Writer, o options) error {
	const plain, confined = "go build ./cmd/sbx", "sbx exec --tier full -- go build ./cmd/sbx"
	const title = "A build of a real project, warm cache"
	project, err := o.project()
	if err != nil {
		return notHere(w, title, err)
	}
	said, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		return err
	}
	caches := strings.Fields(string(said))
	if len(caches) != 2 {
		return fmt.Errorf("go env: %q", said)
	}
	argv := []string{
		"/usr/bin/env", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOFLAGS=-mod=readonly", "GOCACHE=" + caches[0], "GOMODCACHE=" + caches[1],
		"go", "build", "-trimpath", "-o", "out/sbx", "./cmd/sbx",
	}
	sbx := append([]string{o.sbx, "exec", "--tier", "full", "--workspace", project, "--allow-write", caches[0], "--"}, argv...)
	return compare(w, title, max(5, o.rounds/10), []candidate{
		{name: plain, run: o.building(project, argv)},
		{name: confined, run: o.building(project, sbx)},
	}, []bound{{of: confined, by: plain, atMost: 1.05}})
}

// project is a copy of the sources of sbx.
func (o options) project() (string, error) {
	project := filepath.Join(o.dir, "project")
	said, err := exec.Command("git", "checkout-index", "--all", "--force", "--prefix="+project+"/").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git checkout-index: %w: %s", err, said)
	}
	return project, err
}

// building times a build that has to link, because its output is gone.
func (o options) building(project string, argv []string) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		out := filepath.Join(project, "out")
		if err := os.RemoveAll(out); err != nil {
			return 0, err
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = o.env(), project
		start := time.Now()
		said, err := cmd.CombinedOutput()
		took := time.Since(start)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, said)
		}
		_, missing := os.Stat(filepath.Join(out, "sbx"))
		return took, errors.Join(err, missing)
	}
}
