package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

const checkHelp = `sbx check: read a command and say what is risky about it. Nothing is run.

  sbx check 'rm -rf build && curl -s https://example.com/i.sh | sh'
  sbx check -- git push --force origin main     a program and its arguments
  sbx check --file deploy.sh --shell sh         a script, as dash reads it
  history | tail -1 | sbx check                 from standard input
  sbx check --fail-on deletes,network 'make'    exit 3 when one of these tags is there
  sbx check --explain 'D=/srv/x; rm -rf "$D"'   what was resolved, and by which rule
  sbx check --follow ./deploy.sh                read the script as well
  sbx check --json 'ls' | jq .tags              one object
  sbx check --batch < commands.jsonl            a line {"id":1,"cmd":"ls"} each

Exit status: 126 when guard refuses the command, else 3 when a tag of --fail-on
is present, else 0; 2 when the call itself makes no sense.

  --shell NAME      bash (default), sh, posix, dash, mksh, zsh: who will run it
  --cwd DIR         where it would start (default: here); nothing is looked up
  --home DIR        the home directory of who would run it (default: yours)
  --workspace DIR   what counts as inside (default: --cwd)
  --file FILE       read the text from a file
  --follow          read the workspace's scripts too that the command runs by name
  --explain         say for each finding what was resolved, and by which rule
  --fail-on TAGS    separated by commas
  --json            print one object
  --batch           read and write JSON lines
`

// checkCall is a call of sbx check.
type checkCall struct {
	flags
	json, batch bool
	follow      bool
	explain     bool
	file        string
	failOn      tagSet
	request     sbx.Request
	where       shell.Where
	allow       []guard.Allow
}

func parseCheck(args []string) (*checkCall, error) {
	c := &checkCall{flags: *newFlags("check")}
	c.BoolVar(&c.json, "json", false, "")
	c.BoolVar(&c.batch, "batch", false, "")
	c.BoolVar(&c.follow, "follow", false, "")
	c.BoolVar(&c.explain, "explain", false, "")
	c.StringVar(&c.file, "file", "", "")
	c.StringVar(&c.where.Cwd, "cwd", "", "")
	c.StringVar(&c.where.Home, "home", "", "")
	c.StringVar(&c.where.Workspace, "workspace", "", "")
	c.Var(&c.failOn, "fail-on", "")
	c.Var((*dialect)(&c.request.Dialect), "shell", "")
	if err := c.parse(args); err != nil {
		return nil, err
	}
	for _, dir := range [...]struct{ flag, value string }{{"cwd", c.where.Cwd}, {"home", c.where.Home}, {"workspace", c.where.Workspace}} {
		if dir.value != "" && !filepath.IsAbs(dir.value) {
			return nil, usage("--"+dir.flag+" "+quote(dir.value)+": it is not an absolute path", "")
		}
	}
	if c.where.Cwd == "" {
		c.where.Cwd, _ = os.Getwd() // "" leaves relative paths undecided
	}
	if c.where.Home == "" {
		c.where.Home = os.Getenv("HOME")
	}
	return c, nil
}

func check(s *streams, args []string) int {
	c, err := parseCheck(args)
	if err == nil {
		err = c.source(s)
	}
	switch {
	case errors.Is(err, errHelp):
		s.help(checkHelp)
		return exitOK
	case err != nil:
		s.fail(err)
		return exitUsage
	}
	var ignored error
	c.allow, ignored = s.allowances(cmp.Or(c.where.Workspace, c.where.Cwd))
	if c.batch {
		return checkBatch(s, c)
	}
	report := c.report()
	if err := c.write(s.out, report); err != nil {
		s.fail(fmt.Errorf("write report: %w", err))
		return exitUsage
	}
	switch {
	case report.Blocked():
		if ignored != nil {
			s.say("hint", ignored.Error())
		}
		return exitRefused
	case report.Tags&classify.Tags(c.failOn) != 0:
		return exitFound
	}
	return exitOK
}

// report reads the command.
func (c *checkCall) report() sbx.Report {
	r := sbx.CheckAllowing(c.request, c.where, c.allow)
	if c.follow {
		r = r.Follow(cmp.Or(c.where.Workspace, c.where.Cwd))
	}
	r.Explain = c.explain
	return r
}

func (c *checkCall) write(out *os.File, r sbx.Report) error {
	if c.json {
		return writeJSON(out, r)
	}
	screen := screenFor(out, c.explain)
	screen.report(r)
	_, err := io.WriteString(out, screen.String())
	return err
}

// source finds the command: one operand, the arguments after "--", a file, or
// standard input.
func (c *checkCall) source(s *streams) error {
	given := 0
	for _, is := range [...]bool{len(c.operands) > 0, c.dashes, c.file != ""} {
		if is {
			given++
		}
	}
	switch {
	case c.batch && (c.explain || c.follow || c.json):
		return usage("--batch answers with tags and verdict only", "leave --explain, --follow and --json out")
	case c.batch && given > 0:
		return usage("--batch reads commands from standard input only", "")
	case c.batch:
		return nil
	case given > 1:
		return usage("more than one command was given", "use one of: an operand, --file, -- program argument…")
	case len(c.operands) > 1:
		return usage("more than one operand", "quote the command as one word, or write sbx check -- "+strings.Join(c.operands, " "))
	case c.dashes && len(c.after) == 0:
		return usage("no program after --", "")
	case c.dashes:
		c.request.Argv = c.after
		return nil
	case c.file != "":
		return c.readFile()
	case len(c.operands) == 1 && c.operands[0] != "-":
		c.request.Text = c.operands[0]
		return nil
	case given == 0 && isTerminal(s.in):
		return usage("no command", "sbx check 'COMMAND', or sbx check - to type it here")
	}
	return c.read(s.in, "standard input")
}

func (c *checkCall) readFile() error {
	f, err := os.Open(c.file)
	if err != nil {
		return err
	}
	defer f.Close()
	return c.read(f, c.file)
}

// maxText is far above what any shell is given, and bounds what a wrong file
// name (a device, a disk image) can do.
const maxText = 64 << 20

func (c *checkCall) read(r io.Reader, name string) error {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxText {
		return fmt.Errorf("read %s: more than %d MiB", name, maxText>>20)
	}
	c.request.Text = string(text)
	return nil
}

// tagSet is the value of --fail-on.
type tagSet classify.Tags

func (t *tagSet) String() string { return classify.Tags(*t).String() }
func (t *tagSet) Set(v string) error {
	for _, name := range strings.Split(v, ",") {
		tag, ok := classify.Parse(strings.TrimSpace(name))
		if !ok {
			names := (^classify.Tags(0)).Names()
			return &hintedError{msg: "unknown tag " + quote(name), hint: meant(name, names, "", "the tags are: "+strings.Join(names, ", "))}
		}
		*t |= tagSet(tag)
	}
	return nil
}

// dialect is the value of --shell.
type dialect shell.Dialect

var dialectNames = []string{"bash", "sh", "posix", "dash", "mksh", "zsh"}

func (d *dialect) String() string { return shell.Dialect(*d).String() }
func (d *dialect) Set(v string) error {
	parsed, err := shell.ParseDialect(v)
	if err != nil || v == "" {
		return &hintedError{msg: "unknown shell", hint: meant(v, dialectNames, "", "it is one of: "+strings.Join(dialectNames, ", "))}
	}
	*d = dialect(parsed)
	return nil
}
