package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sbx-run/sbx"
)

// manName is what `make man` calls: the words DIR and NAME follow. Pages are made
// of the help texts, so that there is one description of everything.
const manName = "__man"

func manCommand(s *streams, args []string) int {
	if len(args) != 2 || !plainName(args[1]) {
		s.fail(usage("want a directory and the name of the program", "make man"))
		return exitUsage
	}
	if err := writePages(args[0], args[1]); err != nil {
		s.fail(err)
		return exitNotStarted
	}
	return exitOK
}

// writePages writes a page for the program and one for each subcommand.
func writePages(dir, name string) error {
	var list strings.Builder
	list.WriteString(overview + "SUBCOMMANDS\n\n")
	var pages []string
	for _, c := range commands() {
		fmt.Fprintf(&list, "  %s   %s\n", c.name, c.summary)
		pages = append(pages, name+"-"+c.name)
	}
	err := writePage(dir, name, name, "read shell commands and run them confined to one directory", list.String(), pages)
	for _, c := range commands() {
		err = errors.Join(err, writePage(dir, name, name+"-"+c.name, c.summary, c.help, []string{name}))
	}
	return err
}

func writePage(dir, program, page, summary, help string, also []string) error {
	text := roff(page, summary, underName(help, program), also)
	return os.WriteFile(filepath.Join(dir, page+".1"), []byte(text), 0o644)
}

// roff makes a page (man(7)) of a help text: paragraphs stay paragraphs, lines
// about flags become a list, other indented lines are shown as they are.
func roff(page, summary, help string, also []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 %s \"%s\" \"User Commands\"\n", strings.ToUpper(roffText(page)), pageDate(), roffText("sbx "+sbx.Version()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH DESCRIPTION\n", roffText(page), roffText(summary))
	_, body, _ := strings.Cut(help, "\n") // the first line is the summary
	w := roffWriter{out: &b, fresh: true}
	for line := range strings.Lines(body) {
		w.line(strings.TrimRight(line, "\n"))
	}
	w.end()
	b.WriteString(".SH SEE ALSO\n")
	for i, other := range also {
		comma := ","
		if i == len(also)-1 {
			comma = ""
		}
		fmt.Fprintf(&b, ".BR %s (1)%s\n", roffText(other), comma)
	}
	return b.String()
}

// roffWriter is where a page stands.
type roffWriter struct {
	out     *strings.Builder
	verbose bool // in a block of lines that stay as they are
	flags   bool // in the list of flags
	blank   bool // an empty line was read
	fresh   bool // a section has begun, and nothing stands in it
}

// section begins one.
func (w *roffWriter) section(name string) {
	w.end()
	w.out.WriteString(".SH " + name + "\n")
	w.fresh = true
}

// paragraph begins one, but at the start of a section.
func (w *roffWriter) paragraph() {
	if !w.fresh {
		w.out.WriteString(".PP\n")
	}
}

func (w *roffWriter) end() {
	if w.verbose {
		w.out.WriteString(".EE\n.RE\n")
		w.verbose = false
	}
}

func (w *roffWriter) line(line string) {
	text := strings.TrimSpace(line)
	head, isFlag := flagLine(line)
	switch {
	case text == "":
		w.blank = true
		return
	case line == "SUBCOMMANDS":
		w.section("SUBCOMMANDS")
		w.blank = false
		return
	case isFlag:
		w.end()
		if !w.flags {
			w.section("OPTIONS")
			w.flags = true
		}
		rest := strings.TrimSpace(strings.TrimPrefix(text, head))
		fmt.Fprintf(w.out, ".TP\n.B %s\n", roffText(head))
		if rest != "" {
			fmt.Fprintf(w.out, "%s\n", roffText(rest))
		}
	case w.flags && strings.HasPrefix(line, "      "): // a flag's explanation goes on
		fmt.Fprintf(w.out, "%s\n", roffText(text))
	case strings.HasPrefix(line, "  "):
		if !w.verbose {
			w.paragraph()
			w.out.WriteString(".RS 4\n.EX\n")
			w.verbose = true
		} else if w.blank {
			w.out.WriteString("\n")
		}
		fmt.Fprintf(w.out, "%s\n", roffText(strings.TrimPrefix(line, "  ")))
	default:
		w.end()
		switch {
		case strings.HasPrefix(text, "Exit status: "):
			w.section("EXIT STATUS")
			text = strings.TrimPrefix(text, "Exit status: ")
			w.flags = false
		case w.blank && w.flags:
			w.section("NOTES")
			w.flags = false
		case w.blank:
			w.paragraph()
		}
		fmt.Fprintf(w.out, "%s\n", roffText(text))
	}
	w.blank, w.fresh = false, false
}

// pageDate is the day of the build: that of the sources where a build says it
// (SOURCE_DATE_EPOCH, reproducible-builds.org), so that a second build is the same.
func pageDate() string {
	when := time.Now()
	if n, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		when = time.Unix(n, 0)
	}
	return when.UTC().Format(time.DateOnly)
}

// roffText is a line in which nothing means anything to roff.
func roffText(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…", "...", "→", "\\(->").Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
