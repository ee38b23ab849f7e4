package main

import (
	"bufio"
	"context"
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
	keys *os.File        // the terminal, where single keys can be read
	told <-chan struct{} // closed by the signal that ends sbx
}

func newAsker(ctx context.Context, s *streams) asker {
	a := asker{in: bufio.NewReader(s.in), out: s.out, told: ctx.Done()}
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
	text, err := unlessTold(a.told, func() (string, error) { return a.in.ReadString('\n') })
	if errors.Is(err, errStopped) {
		fmt.Fprintln(a.out)
		return "", err
	}
	if err != nil && (text == "" || !errors.Is(err, io.EOF)) {
		fmt.Fprintln(a.out)
		return "", errNoAnswer
	}
	return strings.TrimSpace(text), nil
}

// unlessTold waits for an answer, or for the signal that ends sbx, and what reads the
// answer with it.
func unlessTold[T any](told <-chan struct{}, read func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		value, err := read()
		got <- answer{value, err}
	}()
	select {
	case a := <-got:
		return a.value, a.err
	case <-told:
		var none T
		return none, errStopped
	}
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

// pressed is one of them; a digit is another one with its number.
type pressed struct{ key, digit int }

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
		key, err := unlessTold(a.told, func() (pressed, error) { return readKey(a.in), nil })
		if err != nil {
			return 0, err
		}
		switch key.key {
		case keyUp:
			at = (at + len(q.choices) - 1) % len(q.choices)
		case keyDown:
			at = (at + 1) % len(q.choices)
		case keyEnter:
			return at, nil
		case keyStop:
			return 0, errStopped
		default:
			if key.digit >= 1 && key.digit <= len(q.choices) {
				at = key.digit - 1
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
func readKey(in *bufio.Reader) pressed {
	b, err := in.ReadByte()
	switch {
	case err != nil, b == 3, b == 4, b == 'q':
		return pressed{key: keyStop}
	case b == '\r', b == '\n':
		return pressed{key: keyEnter}
	case b == 'k':
		return pressed{key: keyUp}
	case b == 'j':
		return pressed{key: keyDown}
	case b >= '1' && b <= '9':
		return pressed{keyOther, int(b - '0')}
	case b != 0x1b:
		return pressed{key: keyOther}
	case in.Buffered() == 0:
		return pressed{key: keyStop} // escape by itself
	}
	if b, err = in.ReadByte(); err != nil || b != '[' && b != 'O' {
		return pressed{key: keyOther}
	}
	switch b, err = in.ReadByte(); {
	case err == nil && b == 'A':
		return pressed{key: keyUp}
	case err == nil && b == 'B':
		return pressed{key: keyDown}
	}
	return pressed{key: keyOther}
}
