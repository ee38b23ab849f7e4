package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/sbx-run/sbx/wrappers"
)

// endTime is how long an engine has to end a build that failed, or that it is told
// to end.
const endTime = 10 * time.Second

// build runs the engine's own command line, which reads the Dockerfile from its
// input and so sends no files of this machine. A build that fails, or is interrupted,
// leaves nothing.
func (c *imageCall) build(s *streams) error {
	program, err := c.program()
	if err != nil {
		return err
	}
	args := []string{"build", "--force-rm", "--tag", c.tag} // a build that fails leaves no container, either
	if c.base != "" {
		args = append(args, "--build-arg", "BASE="+c.base)
	}
	if c.packages != nil {
		args = append(args, "--build-arg", "PACKAGES="+*c.packages)
	}
	ctx, stop := untilTold()
	defer stop()
	build := exec.CommandContext(ctx, program, append(args, "-")...)
	build.Stdin, build.Stdout, build.Stderr = strings.NewReader(wrappers.Dockerfile()), s.err, s.err
	build.Cancel, build.WaitDelay = func() error { return endBuild(build.Process) }, endTime
	ownGroup(build) // an interrupt of the terminal's goes to sbx alone
	if err = build.Run(); err == nil {
		return nil
	}
	removeUnfinished(program)
	if ctx.Err() != nil {
		return fmt.Errorf("build the image %s: interrupted", c.tag)
	}
	return fmt.Errorf("build the image %s: %s: %w", c.tag, program, err)
}

// removeUnfinished takes away what the steps of a build made that did not come to an
// image: each step is an image below the next one. The engine may still be removing
// the container of the last. An image that another build goes on from stays.
func removeUnfinished(program string) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	for ctx.Err() == nil {
		out, err := exec.CommandContext(ctx, program, "images", "--quiet", "--no-trunc", "--filter", "dangling=true", "--filter", "label="+wrappers.Unfinished).Output()
		ids := strings.Fields(string(out))
		if err != nil || len(ids) == 0 {
			return
		}
		if exec.CommandContext(ctx, program, append([]string{"rmi", "--no-prune"}, ids...)...).Run() != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}
