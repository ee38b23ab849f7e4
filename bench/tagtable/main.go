// Command tagtable sends files of commands through `sbx check --batch` and
// prints, as a Markdown table, how many of each file got which tag. It fails
// when an answer is missing or out of order.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/bench/corpus"
)

// column is what came out for one file.
type column struct {
	file   string
	counts map[string]int // by tag, and by the rows below
}

// Rows that are not tags.
const (
	rowCommands = "commands"
	rowNone     = "none"
	rowBlocked  = "blocked by guard"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("tagtable", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sbx := flags.String("sbx", "bin/sbx", "the sbx that judges")
	cwd := flags.String("cwd", "/home/dev/app", "working directory and workspace of the commands")
	home := flags.String("home", "/home/dev", "home directory of the commands")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	files := flags.Args()
	if len(files) == 0 {
		var err error
		if files, err = corpus.Files(corpus.Dir()); err != nil {
			fmt.Fprintln(stderr, "tagtable: error:", err)
			return 1
		}
	}
	var columns []column
	for _, file := range files {
		c, err := judge(file, *sbx, "check", "--batch", "--cwd", *cwd, "--home", *home)
		if err != nil {
			fmt.Fprintln(stderr, "tagtable: error:", err)
			return 1
		}
		columns = append(columns, c)
	}
	printTable(stdout, columns)
	return 0
}

// judge sends one file through the batch command and counts the answers.
func judge(file string, argv ...string) (column, error) {
	commands, err := corpus.Read(file)
	if err != nil {
		return column{}, err
	}
	batch := exec.Command(argv[0], argv[1:]...)
	batch.Stderr = os.Stderr
	in, err := batch.StdinPipe()
	if err != nil {
		return column{}, err
	}
	out, err := batch.StdoutPipe()
	if err != nil {
		return column{}, err
	}
	if err := batch.Start(); err != nil {
		return column{}, err
	}
	sent := make(chan error, 1)
	go func() { sent <- send(in, commands) }()
	c := column{file: filepath.Base(file), counts: make(map[string]int)}
	answers, err := c.count(out)
	if err != nil {
		batch.Process.Kill() // it may wait for us to read on
	}
	sendErr := <-sent
	waitErr := batch.Wait()
	switch {
	case err != nil:
		return c, fmt.Errorf("%s: %w", file, err)
	case waitErr != nil:
		return c, fmt.Errorf("%s: after %d of %d answers: %w", file, answers, len(commands), waitErr)
	case sendErr != nil:
		return c, fmt.Errorf("%s: after %d of %d answers: %w", file, answers, len(commands), sendErr)
	case answers != len(commands):
		return c, fmt.Errorf("%s: %d answers to %d commands", file, answers, len(commands))
	}
	return c, nil
}

func send(w io.WriteCloser, commands []string) error {
	defer w.Close()
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	for i, command := range commands {
		row := struct {
			ID  string `json:"id"`
			Cmd string `json:"cmd"`
		}{strconv.Itoa(i), command}
		if err := encoder.Encode(row); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// count reads answers to the end and returns how many there were.
func (c column) count(r io.Reader) (answers int, err error) {
	decoder := json.NewDecoder(r)
	for ; ; answers++ {
		var answer struct {
			ID    string   `json:"id"`
			Tags  []string `json:"tags"`
			Guard string   `json:"guard"`
		}
		if err := decoder.Decode(&answer); err == io.EOF {
			return answers, nil
		} else if err != nil {
			return answers, err
		}
		if answer.ID != strconv.Itoa(answers) {
			return answers, fmt.Errorf("answer %d has the id %q", answers, answer.ID)
		}
		c.counts[rowCommands]++
		for _, tag := range answer.Tags {
			c.counts[tag]++
		}
		if len(answer.Tags) == 0 {
			c.counts[rowNone]++
		}
		if answer.Guard == "block" {
			c.counts[rowBlocked]++
		}
	}
}

func printTable(w io.Writer, columns []column) {
	var tags []string
	head, rule := "| |", "| --- |"
	for _, c := range columns {
		head += " " + c.file + " |"
		rule += " ---: |"
		for tag := range c.counts {
			if !slices.Contains(tags, tag) && !slices.Contains([]string{rowCommands, rowNone, rowBlocked}, tag) {
				tags = append(tags, tag)
			}
		}
	}
	slices.Sort(tags)
	fmt.Fprintln(w, head)
	fmt.Fprintln(w, rule)
	for _, row := range slices.Concat([]string{rowCommands, rowNone}, tags, []string{rowBlocked}) {
		var cells strings.Builder
		for _, c := range columns {
			fmt.Fprintf(&cells, " %d |", c.counts[row])
		}
		fmt.Fprintf(w, "| %s |%s\n", row, cells.String())
	}
}
