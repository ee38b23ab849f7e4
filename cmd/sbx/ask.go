package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/permit"
)

// A question is asked on the terminal itself, never on standard input: that is
// the command's, and what comes in there is nobody's answer.

func openTerminal() (*os.File, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil && !isTerminal(tty) {
		tty.Close()
		return nil, errors.New("/dev/tty is no terminal")
	}
	return tty, err
}

// keys are those of the decisions.
var keys = [...]struct {
	key      string
	decision permit.Decision
}{
	{"y", permit.Once},
	{"r", permit.ThisRun},
	{"s", permit.Session},
	{"t", permit.SessionAny},
	{"a", permit.Always},
	{"n", permit.Deny},
}

func keyOf(d permit.Decision) string {
	for _, k := range keys {
		if k.decision == d {
			return k.key
		}
	}
	return "n"
}

// askOnTerminal shows the whole command and asks. No answer is none, and every
// unclear one is asked for again.
func askOnTerminal(ctx context.Context, q sbx.Question) (permit.Reply, error) {
	tty, err := openTerminal()
	if err != nil {
		return permit.Reply{}, err
	}
	stop := make(chan os.Signal, 4)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(stop)

	s := &streams{in: tty, out: tty, err: tty}
	if err := s.showQuestion(tty, q); err != nil {
		return permit.Reply{}, err
	}
	forgetTyped(tty) // what was typed, or made the terminal answer, before the question
	type answered struct {
		permit.Reply
		error
	}
	got := make(chan answered, 1)
	go func() { // ends with sbx when nobody answers
		reply, err := s.readAnswer(tty, q)
		got <- answered{reply, err}
	}()
	select {
	case a := <-got:
		return a.Reply, a.error
	case <-stop:
		fmt.Fprintln(tty)
		return permit.Reply{}, errors.New("it was interrupted")
	case <-ctx.Done():
		fmt.Fprintln(tty)
		return permit.Reply{}, ctx.Err()
	}
}

// showQuestion writes the command as a whole, through a pager when it is longer
// than the screen.
func (s *streams) showQuestion(tty *os.File, q sbx.Question) error {
	columns, rows := terminalSize(tty)
	view := screenFor(tty, false)
	view.question(q, columns)
	text := view.String()
	const tail = 12 // rows that the options take
	if strings.Count(text, "\n") <= rows-tail {
		_, err := io.WriteString(tty, text)
		return err
	}
	return s.paged(tty, []string{q.Workspace}, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// question writes what wants to run, with its findings.
func (s *screen) question(q sbx.Question, columns int) {
	fmt.Fprintf(s, "sbx: %s\n", visible(askedBy(q)))
	s.WriteByte('\n')
	printWhole(s, q.Report.Script.Text, s.marks(q.Report), columns, s.paint)
	if rows := s.rows(q.Report); len(rows) > 0 {
		s.WriteByte('\n')
		s.table(rows)
	}
	s.WriteByte('\n')
	for _, f := range q.Report.Followed {
		s.script(q.Report, f)
	}
}

func askedBy(q sbx.Question) string {
	who := "may this run in " + q.Workspace + "?"
	if q.Caller.Agent != "" {
		who = "the agent " + q.Caller.Agent + " wants to run this in " + q.Workspace
	}
	return who
}

// notes are what else a person should know.
func notes(q sbx.Question) []string {
	var list []string
	switch missing := missingLabels(q); {
	case len(q.Risks) == 0:
	case len(missing) > 0:
		list = append(list, "never permitted so far: "+strings.Join(missing, ", "))
	case q.Taint == "" && q.Policy == "": // else that is why it is asked about
		list = append(list, "each of this was permitted before, and not together")
	}
	if why := q.Report.Unread(); why != "" {
		list = append(list, "careful: it could not be read as a whole ("+why+"), so that it may do what is not said here")
	}
	if q.Taint != "" {
		list = append(list, "careful: "+q.Taint)
	}
	if q.Policy != "" {
		list = append(list, "a policy wants you to look: "+q.Policy)
	}
	if len(q.Options) > 2 {
		list = append(list, q.Scope)
	}
	return list
}

func missingLabels(q sbx.Question) []string {
	var labels []string
	for i, risk := range q.Risks {
		for _, m := range q.Missing {
			if m == risk {
				labels = append(labels, q.Labels[i])
			}
		}
	}
	return labels
}

// readAnswer asks until there is a clear answer.
func (s *streams) readAnswer(tty *os.File, q sbx.Question) (permit.Reply, error) {
	in := bufio.NewReader(tty)
	by := "uid " + strconv.Itoa(os.Getuid()) + " at a terminal"
	for range 20 {
		for _, note := range notes(q) {
			fmt.Fprintln(tty, "  "+visible(note))
		}
		var letters []string
		for _, o := range q.Options {
			label, key := o.Label, keyOf(o.Decision)
			if o.Recommended {
				label += " (recommended)"
			}
			if o.Decision == permit.Deny {
				label += " (default); a reason may follow: n too broad"
				key = strings.ToUpper(key)
			}
			fmt.Fprintf(tty, "  %s  %s\n", key, visible(label))
			letters = append(letters, key)
		}
		fmt.Fprintf(tty, "  v  show it again\nsbx: your answer within %s [%s/v]: ", q.Wait, strings.Join(letters, "/"))
		line, err := in.ReadString('\n')
		if err != nil {
			fmt.Fprintln(tty)
			return permit.Reply{}, errors.New("the terminal was closed")
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch d, ok := decisionOf(q, word); {
		case ok:
			reply := permit.Reply{Decision: d, By: by}
			if d == permit.Deny {
				reply.Reason = strings.TrimSpace(rest)
			}
			if d == permit.Deny || rest == "" {
				return reply, nil
			}
		case strings.EqualFold(word, "v"):
			if err := s.showQuestion(tty, q); err != nil {
				return permit.Reply{}, err
			}
			continue
		}
		fmt.Fprintf(tty, "sbx: %s is no answer\n", quote(strings.TrimSpace(line)))
	}
	return permit.Reply{Decision: permit.Deny, By: by}, nil
}

// decisionOf is the decision that a word means: its key, or its name.
func decisionOf(q sbx.Question, word string) (permit.Decision, bool) {
	word = strings.ToLower(word)
	switch word {
	case "", "no":
		return permit.Deny, true
	case "yes":
		word = "y"
	}
	for _, k := range keys {
		if (word == k.key || word == k.decision.String()) && q.Offered(k.decision) {
			return k.decision, true
		}
	}
	return permit.Deny, false
}
