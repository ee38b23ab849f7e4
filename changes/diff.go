package changes

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Diff is how the content of one entry differs, line by line.
type Diff struct {
	Binary bool // one side is no text
	Large  bool // one side is larger than maxDiff
	Hunks  []Hunk
}

// Hunk is a run of lines that differ, with some around them that do not.
type Hunk struct {
	OldStart, OldLines int // from 1; 0 where there is no line
	NewStart, NewLines int
	Lines              []Line
}

// Line is one line of a Hunk, without its end.
type Line struct {
	Sign    byte // ' ', '-' or '+'
	Text    string
	NoBreak bool // the file ends here without a line break
}

const (
	// maxDiff is the largest file that is compared by lines.
	maxDiff = 1 << 20
	// maxEdits bounds the search for the shortest way from one text to the other;
	// its cost grows with the square. Beyond it the middle is shown as replaced.
	maxEdits = 1000
	around   = 3 // unchanged lines shown before and after
)

// isText says whether people can read it.
func isText(b []byte) bool { return bytes.IndexByte(b, 0) < 0 && utf8.Valid(b) }

// compareText makes the hunks of two texts.
func compareText(old, new []byte) Diff {
	switch {
	case len(old) > maxDiff || len(new) > maxDiff:
		return Diff{Large: true}
	case !isText(old) || !isText(new):
		return Diff{Binary: true}
	}
	a, b := splitLines(string(old)), splitLines(string(new))
	return Diff{Hunks: hunks(edits(a, b))}
}

// splitLines keeps the line breaks, so that a last line without one differs.
func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// edits gives every line of both texts in order with its sign.
func edits(a, b []string) []Line {
	var lines []Line
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		lines = append(lines, line(' ', a[head]))
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	lines = append(lines, shortest(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, s := range a[len(a)-tail:] {
		lines = append(lines, line(' ', s))
	}
	return lines
}

func line(sign byte, s string) Line {
	text, ended := strings.CutSuffix(s, "\n")
	return Line{Sign: sign, Text: text, NoBreak: !ended}
}

// shortest is the greedy search of Myers, "An O(ND) Difference Algorithm"
// (1986): on each diagonal it remembers how far so many edits reach.
func shortest(a, b []string) []Line {
	n, m := len(a), len(b)
	limit := min(n+m, maxEdits)
	reach := make([]int, 2*limit+2)
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), reach[limit-d:limit+d+1]...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && reach[limit+k-1] < reach[limit+k+1] {
				x = reach[limit+k+1]
			} else {
				x = reach[limit+k-1] + 1
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			reach[limit+k] = x
			if x >= n && x-k >= m {
				return back(a, b, trace)
			}
		}
	}
	return replaced(a, b)
}

func replaced(a, b []string) []Line {
	var lines []Line
	for _, s := range a {
		lines = append(lines, line('-', s))
	}
	for _, s := range b {
		lines = append(lines, line('+', s))
	}
	return lines
}

// back goes the way of the search back from the end.
func back(a, b []string, trace [][]int) []Line {
	x, y := len(a), len(b)
	var lines []Line // last first
	for d := len(trace) - 1; d > 0; d-- {
		at := func(k int) int { // what was reached with d-1 edits
			if k < -d || k > d {
				return -1
			}
			return trace[d][k+d]
		}
		k := x - y
		from := k - 1
		if k == -d || k != d && at(k-1) < at(k+1) {
			from = k + 1
		}
		px := at(from)
		py := px - from
		for x > px && y > py {
			x, y = x-1, y-1
			lines = append(lines, line(' ', a[x]))
		}
		if x == px {
			y--
			lines = append(lines, line('+', b[y]))
		} else {
			x--
			lines = append(lines, line('-', a[x]))
		}
	}
	for x > 0 {
		x--
		lines = append(lines, line(' ', a[x]))
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return lines
}

// hunks cuts out what differs.
func hunks(lines []Line) []Hunk {
	var all []Hunk
	old, now, last := 0, 0, -1 // lines passed, and the index of the last difference
	var h *Hunk
	for i, l := range lines {
		if l.Sign != ' ' {
			if h == nil {
				all = append(all, Hunk{OldStart: old + 1, NewStart: now + 1})
				h = &all[len(all)-1]
				for j := max(0, i-around); j < i; j++ {
					h.add(lines[j])
					h.OldStart--
					h.NewStart--
				}
			} else {
				for j := last + 1; j < i; j++ {
					h.add(lines[j])
				}
			}
			h.add(l)
			last = i
		}
		if l.Sign != '+' {
			old++
		}
		if l.Sign != '-' {
			now++
		}
		if h != nil && i-last >= 2*around {
			h.end(lines, last)
			h = nil
		}
	}
	if h != nil {
		h.end(lines, last)
	}
	for i := range all { // as diff(1) counts where there are no lines
		if all[i].OldLines == 0 {
			all[i].OldStart--
		}
		if all[i].NewLines == 0 {
			all[i].NewStart--
		}
	}
	return all
}

func (h *Hunk) end(lines []Line, last int) {
	for j := last + 1; j < min(len(lines), last+1+around); j++ {
		h.add(lines[j])
	}
}

func (h *Hunk) add(l Line) {
	h.Lines = append(h.Lines, l)
	if l.Sign != '+' {
		h.OldLines++
	}
	if l.Sign != '-' {
		h.NewLines++
	}
}
