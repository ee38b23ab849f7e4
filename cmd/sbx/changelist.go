package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sbx-run/sbx/changes"
)

// maxListed is the number of entries that sbx exec lists; sbx preview show lists
// all.
const maxListed = 200

// changeList writes changes for people. Names and contents come from the
// command: nothing of them acts on a terminal.
type changeList struct {
	screen
	out io.Writer
}

func newChangeList(out *os.File) *changeList {
	return &changeList{screen: screen{color: colored(out, os.Getenv)}, out: out}
}

// summary is one line.
func (p *changeList) summary(c *changes.Changes) {
	if c.Empty() {
		fmt.Fprintln(p.out, "sbx: preview: nothing would change")
		return
	}
	t := c.Totals
	var parts []string
	for _, n := range [...]struct {
		count int
		what  string
	}{{t.Created, "created"}, {t.Changed, "changed"}, {t.Deleted, "deleted"}, {t.Metadata, "with other metadata"}} {
		if n.count > 0 {
			parts = append(parts, strconv.Itoa(n.count)+" "+n.what)
		}
	}
	if len(parts) == 0 {
		parts = []string{"conflicts alone"}
	}
	fmt.Fprintf(p.out, "sbx: preview: %s; %s written\n", strings.Join(parts, ", "), bytesText(t.Bytes))
	if c.Full {
		fmt.Fprintln(p.out, "sbx: preview: the room for what is written was used up (--preview-size); the command may have failed for that")
	}
}

// list writes one line for each entry, at most limit of them; 0: all.
func (p *changeList) list(c *changes.Changes, limit int) {
	for i, e := range c.Entries {
		if limit > 0 && i == limit {
			fmt.Fprintf(p.out, "  … and %d more\n", len(c.Entries)-i)
			break
		}
		fmt.Fprintln(p.out, p.entry(c, e))
	}
	for i, f := range c.Conflicts {
		if limit > 0 && i == maxConflicts {
			fmt.Fprintf(p.out, "  … and %d more conflicts\n", len(c.Conflicts)-i)
			break
		}
		fmt.Fprintf(p.out, "  %s %s: %s\n", p.paint(red, "!"), visible(name(c, f.Root, f.Path)), visible(f.Why))
	}
}

// name is the path below the root, or all of it where there are several roots.
func name(c *changes.Changes, root, path string) string {
	if len(c.Roots) > 1 {
		return root + "/" + path
	}
	return path
}

// entry is one line: a sign, the path, and what there is to say.
func (p *changeList) entry(c *changes.Changes, e changes.Entry) string {
	path := visible(name(c, e.Root, e.Path))
	if e.Type == "directory" && e.OldType == "" {
		path += "/"
	}
	sign, how := "?", faint
	var says []string
	switch e.Kind {
	case changes.Created:
		sign, how = "+", green
		if e.Type == "file" && e.Link == "" {
			says = append(says, bytesText(e.Size))
		}
	case changes.Changed:
		sign, how = "~", yellow
		switch {
		case e.OldType != "":
			says = append(says, e.OldType+" → "+e.Type)
		case e.Type == "file":
			says = append(says, bytesText(e.OldSize)+" → "+bytesText(e.Size))
		}
	case changes.Deleted:
		sign, how = "-", red
		if e.Type == "file" {
			says = append(says, bytesText(e.OldSize))
		}
	case changes.Metadata:
		sign = "="
		if e.Mode == e.OldMode {
			says = append(says, "times or attributes")
		}
	}
	if e.Kind != changes.Created && e.Kind != changes.Deleted && e.OldType == "" && e.Type != "symlink" && e.Mode != e.OldMode {
		says = append(says, fmt.Sprintf("mode %04o → %04o", e.OldMode, e.Mode))
	}
	switch {
	case e.Link != "":
		says = append(says, "hard link to "+visible(e.Link))
	case e.Type == "symlink":
		says = append(says, "→ "+visible(e.Target))
	case e.Type == "fifo" || e.Type == "socket":
		says = append(says, e.Type)
	case e.Kind == changes.Created && e.Type == "file" && e.Mode&0o111 != 0:
		says = append(says, "executable")
	}
	line := "  " + p.paint(how, sign) + " " + path
	if len(says) > 0 {
		line += "  " + p.paint(faint, strings.Join(says, ", "))
	}
	return line
}

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n), 0
	for f >= 999.5 && unit < 5 {
		f, unit = f/1000, unit+1
	}
	text := strconv.FormatFloat(f, 'f', 1, 64)
	if f >= 100 {
		text = strconv.FormatFloat(f, 'f', 0, 64)
	}
	return text + " " + string("BkMGTP"[unit]) + "B"
}

// diffs writes the text changes of all files in the unified format.
func (p *changeList) diffs(w io.Writer, c *changes.Changes) error {
	for _, e := range c.Entries {
		if e.Type != "file" && e.OldType != "file" || e.Kind == changes.Metadata || e.Link != "" {
			continue
		}
		d, err := c.Diff(e)
		if err != nil {
			return err
		}
		if err := p.diff(w, c, e, d); err != nil {
			return err
		}
	}
	return nil
}

func (p *changeList) diff(w io.Writer, c *changes.Changes, e changes.Entry, d changes.Diff) error {
	path := name(c, e.Root, e.Path)
	from, to := "a/"+safeText(path), "b/"+safeText(path)
	if e.Kind == changes.Created || e.OldType != "" && e.OldType != "file" {
		from = os.DevNull
	}
	if e.Kind == changes.Deleted || e.Type != "file" {
		to = os.DevNull
	}
	switch {
	case d.Binary:
		_, err := fmt.Fprintf(w, "Binary files %s and %s differ\n", from, to)
		return err
	case d.Large:
		_, err := fmt.Fprintf(w, "Files %s and %s differ, and are too large to compare by lines\n", from, to)
		return err
	case len(d.Hunks) == 0:
		return nil
	}
	var b strings.Builder
	b.WriteString(p.paint(faint, "--- "+from) + "\n" + p.paint(faint, "+++ "+to) + "\n")
	for _, h := range d.Hunks {
		b.WriteString(p.paint(yellow, "@@ -"+span(h.OldStart, h.OldLines)+" +"+span(h.NewStart, h.NewLines)+" @@") + "\n")
		for _, l := range h.Lines {
			text := string(l.Sign) + safeText(l.Text)
			switch l.Sign {
			case '+':
				text = p.paint(green, text)
			case '-':
				text = p.paint(red, text)
			}
			b.WriteString(text + "\n")
			if l.NoBreak {
				b.WriteString("\\ No newline at end of file\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func span(start, lines int) string {
	if lines == 1 {
		return strconv.Itoa(start)
	}
	return strconv.Itoa(start) + "," + strconv.Itoa(lines)
}

// safeText is visible, but leaves tabs: a diff of text without control
// characters can be given to patch(1).
func safeText(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == '\t', unicode.IsPrint(r) && (r != utf8.RuneError || size > 1), unicode.In(r, unicode.Mn, unicode.Me):
			b.WriteString(s[:size])
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		s = s[size:]
	}
	return b.String()
}
