// Package corpus reads files of commands: one a line in .txt, one JSON string
// or object with "cmd" a line in .jsonl.
package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// maxLine is the longest line that is read: the longest command sbx promises to
// read is 1 MiB, and JSON escapes can make it six times as long.
const maxLine = 8 << 20

// Dir finds the corpora: $SBX_CORPUS, else a folder beside the repository, where
// those lie that may not be copied into it (GPL, CC-BY), else the rows in it.
func Dir() string {
	if dir := os.Getenv("SBX_CORPUS"); dir != "" {
		return dir
	}
	const beside = "../shared/corpus/real"
	if _, err := os.Stat(beside); err == nil {
		return beside
	}
	return "testdata/corpus"
}

// Files lists the files of commands in a folder, sorted.
func Files(dir string) ([]string, error) {
	var files []string
	for _, pattern := range []string{"*.txt", "*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read corpus %q: no .txt or .jsonl file", dir)
	}
	slices.Sort(files)
	return files, nil
}

// Read returns the commands of one file in order. Empty lines are left out.
func Read(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	parse := plain
	if filepath.Ext(file) == ".jsonl" {
		parse = fromJSON
	}
	var commands []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		command, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("read %s:%d: %w", file, n, err)
		}
		commands = append(commands, command)
	}
	return commands, lines.Err()
}

func plain(line []byte) (string, error) { return string(line), nil }

func fromJSON(line []byte) (string, error) {
	if line[0] == '"' {
		var command string
		err := json.Unmarshal(line, &command)
		return command, err
	}
	var row struct {
		Cmd *string `json:"cmd"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return "", err
	}
	if row.Cmd == nil {
		return "", fmt.Errorf(`no "cmd"`)
	}
	return *row.Cmd, nil
}
