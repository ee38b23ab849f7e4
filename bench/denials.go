//go:build linux

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// denials measures what recording them costs a build that makes thousands of
// files: sbx itself, each time with an empty build cache. That takes minutes, so
// it has few rounds whatever is asked for.
func denials(w io.Writer, o options) error {
	const (
		title     = "A build of a real project, empty cache"
		plain     = "sbx exec -- go build ./cmd/sbx"
		explained = "the same with --explain-denials"
		reads     = "the same with --explain-denials=reads"
		most      = 5
	)
	project, err := o.project()
	if err != nil {
		return notHere(w, title, err)
	}
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return err
	}
	cache := filepath.Join(project, "cache")
	candidateOf := func(name string, flags ...string) candidate {
		argv := append([]string{o.sbx, "exec", "--tier", "full", "--workspace", project}, flags...)
		run := o.building(project, append(argv, "--", "/usr/bin/env", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOFLAGS=-mod=readonly",
			"GOCACHE="+cache, "GOMODCACHE="+strings.TrimSpace(string(modules)), "go", "build", "-trimpath", "-o", "out/sbx", "./cmd/sbx"))
		return candidate{name: name, run: func() (time.Duration, error) {
			if err := os.RemoveAll(cache); err != nil {
				return 0, err
			}
			return run()
		}}
	}
	return compare(w, title, min(o.rounds, most), []candidate{
		candidateOf(plain), candidateOf(explained, "--explain-denials"), candidateOf(reads, "--explain-denials=reads"),
	}, []bound{{of: explained, by: plain, atMost: 1.10}})
}
