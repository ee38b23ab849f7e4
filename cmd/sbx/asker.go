package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// inquiry has choices, each a word and what it means.
type inquiry struct {
	text    string
	choices [][2]string
	preset  int
}

// asker asks a person: with arrow keys where both sides are a terminal that takes
// them, else with numbered lines.
type asker struct {
	in   *bufio.Reader
	out  *os.File
	keys *os.File // the terminal, where single keys can be read
}

func newAsker(s *streams) asker {
	a := asker{in: bufio.NewReader(s.in), out: s.out}
	if isTerminal(s.in) && isTerminal(s.out) && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != "" && canReadKeys {
		a.keys = s.in
	}
	return a
}

// errNoAnswer: the end of the input came before an answer.
var errNoAnswer = &hintedError{msg: "there is nobody to ask: the input ended", hint: "--yes takes what is recommended, and --backend, --network and --image say it"}

// choose returns the number of the answer.
func (a asker) choose(q inquiry) (int, error) {
	if a.keys != nil {
		return a.byArrows(q)
	}
	fmt.Fprintln(a.out, q.text)
	for i, c := range q.choices {
		fmt.Fprintf(a.out, "  %d  %-10s %s\n", i+1, c[0], visible(c[1]))
	}
	for {
		text, err := a.read(fmt.Sprintf("1 to %d [%d]: ", len(q.choices), q.preset+1))
		if err != nil {
			return 0, err
		}
		if text == "" {
			return q.preset, nil
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.choices) {
			return n - 1, nil
		}
		for i, c := range q.choices {
			if text == c[0] {
				return i, nil
			}
		}
		fmt.Fprintf(a.out, "%s is none of them\n", quote(text))
	}
}

// read asks for a line.
func (a asker) read(prompt string) (string, error) {
	fmt.Fprint(a.out, prompt)
	text, err := a.in.ReadString('\n')
	if err != nil && (text == "" || !errors.Is(err, io.EOF)) {
		fmt.Fprintln(a.out)
		return "", errNoAnswer
	}
	return strings.TrimSpace(text), nil
}

// line asks for a text until it is a good one; an empty one is the preset.
func (a asker) line(text, preset string, check func(string) error) (string, error) {
	for {
		answer, err := a.read(fmt.Sprintf("%s [%s]: ", text, preset))
		if err != nil {
			return "", err
		}
		if answer == "" {
			return preset, nil
		}
		if err := check(answer); err != nil {
			fmt.Fprintln(a.out, visible(err.Error()))
			continue
		}
		return answer, nil
	}
}

// agree asks whether to go on; only a clear yes is one.
func (a asker) agree(text string) (bool, error) {
	answer, err := a.read(text + " [y/N]: ")
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, err
	}
	return false, err
}

// The keys that an answer is chosen by.
const (
	keyUp = iota
	keyDown
	keyEnter
	keyStop
	keyOther
)

// byArrows shows the choices with a mark that the arrow keys move.
func (a asker) byArrows(q inquiry) (int, error) {
	restore, err := rawTerminal(a.keys)
	if err != nil {
		a.keys = nil
		return a.choose(q)
	}
	defer restore()
	columns, _ := terminalSize(a.out)
	at := q.preset
	fmt.Fprintf(a.out, "%s (arrow keys, enter)\r\n", q.text)
	for first := true; ; first = false {
		if !first {
			fmt.Fprintf(a.out, "\x1b[%dA", len(q.choices))
		}
		for i, c := range q.choices {
			mark := " "
			if i == at {
				mark = ">"
			}
			fmt.Fprintf(a.out, "\r\x1b[K%s\r\n", cut(fmt.Sprintf("%s %-10s %s", mark, c[0], visible(c[1])), columns-1))
		}
		switch key, number := readKey(a.in); key {
		case keyUp:
			at = (at + len(q.choices) - 1) % len(q.choices)
		case keyDown:
			at = (at + 1) % len(q.choices)
		case keyEnter:
			return at, nil
		case keyStop:
			return 0, errStopped
		default:
			if number >= 1 && number <= len(q.choices) {
				at = number - 1
			}
		}
	}
}

// cut shortens a line to what a terminal shows in one row.
func cut(text string, columns int) string {
	runes := []rune(text)
	if columns < 10 || len(runes) <= columns {
		return text
	}
	return string(runes[:columns-1]) + "…"
}

// readKey reads one key: an arrow (ECMA-48 and the application mode of VT100),
// j and k, a digit, enter, or what stops: escape, q, ctrl-c, ctrl-d, the end.
func readKey(in *bufio.Reader) (key, digit int) {
	b, err := in.ReadByte()
	switch {
	case err != nil, b == 3, b == 4, b == 'q':
		return keyStop, 0
	case b == '\r', b == '\n':
		return keyEnter, 0
	case b == 'k':
		return keyUp, 0
	case b == 'j':
		return keyDown, 0
	case b >= '1' && b <= '9':
		return keyOther, int(b - '0')
	case b != 0x1b:
		return keyOther, 0
	case in.Buffered() == 0:
		return keyStop, 0 // escape by itself
	}
	if b, err = in.ReadByte(); err != nil || b != '[' && b != 'O' {
		return keyOther, 0
	}
	switch b, err = in.ReadByte(); {
	case err == nil && b == 'A':
		return keyUp, 0
	case err == nil && b == 'B':
		return keyDown, 0
	}
	return keyOther, 0
}
