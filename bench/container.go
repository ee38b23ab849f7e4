//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// The engine and the image of scripts/engines.sh.
const (
	engineVar  = "SBX_TEST_DOCKER_HOST"
	benchImage = "sbx-test/busybox:1"
)

// inContainer is how a command is run by the engine's own command line and by
// sbx, with the same options.
type inContainer struct {
	client      string
	confined    []string
	docker, sbx func(flags []string, argv ...string) []string
}

const (
	coldRun = "sbx exec --backend docker"
	cliRun  = "docker run --rm"
)

// containers prepares it. ok is false, and the reader is told, without an engine.
func containers(w io.Writer, o options) (c inContainer, ok bool, err error) {
	host := os.Getenv(engineVar)
	if host == "" || o.guest {
		fmt.Fprintf(w, "\nContainers: not measured, %s is not set (scripts/engines.sh starts an engine)\n", engineVar)
		return c, false, nil
	}
	if c.client, err = exec.LookPath("docker"); err != nil {
		return c, false, err
	}
	if err := os.Setenv("DOCKER_HOST", host); err != nil { // for both
		return c, false, err
	}
	ws := o.workspace()
	c.confined = []string{
		"--network", "none", "--memory", "512m", "--cpus", "1", "--pids-limit", "256", "--user", fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid()),
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--init", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
		"--volume", ws + ":" + ws, "--workdir", ws,
	}
	c.docker = func(flags []string, argv ...string) []string {
		return slices.Concat([]string{c.client, "run", "--rm"}, c.confined, flags, []string{benchImage}, argv)
	}
	c.sbx = func(flags []string, argv ...string) []string {
		return slices.Concat([]string{o.sbx, "exec", "--backend", "docker", "--image", benchImage, "--workspace", ws}, flags, []string{"--"}, argv)
	}
	return c, true, nil
}

// container compares a command in a container with the engine's own command line.
func container(w io.Writer, o options) error {
	c, ok, err := containers(w, o)
	if err != nil || !ok {
		return err
	}
	started, err := exec.Command(c.client, slices.Concat([]string{"run", "--rm", "--detach"}, c.confined, []string{benchImage, "sleep", "3600"})...).Output()
	if err != nil {
		return fmt.Errorf("start a container for docker exec: %w", err)
	}
	id := strings.TrimSpace(string(started))
	defer func() { _ = exec.Command(c.client, "rm", "--force", id).Run() }()
	defer func() {
		stop := exec.Command(o.sbx, "session", "stop", "--all")
		stop.Env = o.env()
		_ = stop.Run()
	}()
	const kept, entered = "sbx session exec", "docker exec"
	return compare(w, "A command in a container, engine "+o.who(), max(5, o.rounds/5), []candidate{
		o.candidate(cliRun, c.docker(nil, "true")...),
		o.candidate(coldRun, c.sbx(nil, "true")...),
		o.candidate(entered, c.client, "exec", id, "true"),
		o.candidate(kept, c.sbx([]string{"--session", "auto"}, "true")...),
	}, []bound{{of: coldRun, by: cliRun, atMost: 0.8}, {of: kept, by: entered, atMost: 0.5}, {of: kept, by: cliRun, atMost: 0.12}})
}

// A crowd of containers: as many at once as somebody asked for in the target.
const (
	boxWidth  = 32
	boxBlock  = 32
	boxBlocks = 3
)

// manyContainers compares many commands at once, each in a container of its own, as
// processes. Beside the engine's command line stands whether one failed.
func manyContainers(w io.Writer, o options) error {
	c, ok, err := containers(w, o)
	if err != nil || !ok {
		return err
	}
	return o.boxes(w, "Docker", o.candidate(cliRun, c.docker(nil, "true")...), o.candidate(coldRun, c.sbx(nil, "true")...))
}

// boxes measures crowds of what the engine's command line and sbx do, in blocks.
func (o options) boxes(w io.Writer, engine string, cli, sbx candidate) error {
	crowds := make([]*crowdOf, 0, 2)
	for _, c := range []candidate{cli, sbx} {
		crowds = append(crowds, &crowdOf{name: c.name, gc: -1, width: boxWidth, size: boxBlock, one: func() error { _, err := c.run(); return err }})
	}
	blocks := max(boxBlocks, o.rounds/20)
	title := fmt.Sprintf("%d containers of %s at once, %s: %d blocks of %d runs of true", boxWidth, engine, o.who(), blocks, boxBlock)
	all, err := gather(w, title, blocks, crowds)
	if err != nil {
		return err
	}
	rates(w, all, sbx.name, cli.name, 1)
	mine := crowds[1]
	fmt.Fprintf(w, "  no failure in %d runs, %s: %s\n", mine.runs, mine.name, verdict(mine.failed.Load() == 0))
	return nil
}

// containerOutput compares what passes through a command's standard output.
func containerOutput(w io.Writer, o options) error {
	c, ok, err := containers(w, o)
	if err != nil || !ok {
		return err
	}
	// In pieces of 64 KiB, as programs with much to say write. busybox's head -c writes 4 KiB
	// at a time: then its own calls are what is measured.
	const piece = 64 << 10
	many := []string{"dd", "if=/dev/zero", fmt.Sprint("bs=", piece), fmt.Sprint("count=", outputBytes/piece)}
	return compare(w, "1 GiB of standard output from a container", max(2, o.rounds/50), []candidate{
		{name: cliRun, run: o.piped(c.docker(nil, many...))},
		{name: coldRun, run: o.piped(c.sbx(nil, many...))},
	}, []bound{{of: coldRun, by: cliRun, atMost: 0.25}})
}
