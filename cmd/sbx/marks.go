package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sbx-run/sbx/shell"
)

// mark is one remark about a span of a text.
type mark struct {
	span  shell.Span
	label string
	how   style
}

// maxMarkedLine is the length in bytes up to which a line is shown whole. Of a
// longer one each mark shows the part it is about.
const maxMarkedLine = 400

// printMarked writes the text with each mark under the line it begins in; marks
// are in the order of their beginnings. With many lines only those with a mark
// are written, each with its number.
func printMarked(w io.Writer, text string, marks []mark, paint func(style, string) string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	gutter := 0
	if len(lines) > 1 {
		gutter = len(strconv.Itoa(len(lines)))
	}
	start := 0
	for i, line := range lines {
		var here []mark
		here, marks = marksUntil(marks, start+len(line), i == len(lines)-1)
		if len(here) > 0 || len(lines) <= 12 {
			printLine(w, line, start, here, gutter, i+1, paint)
		}
		start += len(line) + 1
	}
}

// marksUntil splits off the marks that begin at or before end; the last line
// takes those that begin behind the text as well.
func marksUntil(marks []mark, end int, last bool) (here, rest []mark) {
	n := 0
	for n < len(marks) && (marks[n].span.Start <= end || last) {
		n++
	}
	return marks[:n], marks[n:]
}

func printLine(w io.Writer, line string, start int, marks []mark, gutter, number int, paint func(style, string) string) {
	margin, blank := "  ", "  "
	if gutter > 0 {
		margin = fmt.Sprintf("  %*d | ", gutter, number)
		blank = fmt.Sprintf("  %*s | ", gutter, "")
	}
	if len(line) <= maxMarkedLine || len(marks) == 0 {
		fmt.Fprintln(w, strings.TrimRight(margin+visible(clip(line, maxMarkedLine)), " "))
	}
	shown, cut := line, -1 // of a long line: the part that was written last, and where it begins
	for _, m := range marks {
		from := min(m.span.Start-start, len(line))
		to := max(from, min(m.span.End-start, len(line)))
		if len(line) > maxMarkedLine {
			if cut < 0 || from < cut || min(to, from+maxMarkedLine/2) > cut+maxMarkedLine {
				shown, cut = part(line, from)
				fmt.Fprintln(w, margin+visible(shown))
			}
			lead := 0
			if cut > 0 {
				lead = len(leftOut)
			}
			from, to = from-cut+lead, min(to-cut, maxMarkedLine)+lead
		}
		from, to = min(from, len(shown)), min(to, len(shown))
		under := "^" + strings.Repeat("~", max(0, width(shown[:to])-width(shown[:from])-1))
		fmt.Fprintln(w, blank+strings.Repeat(" ", width(shown[:from]))+paint(m.how, under+" "+visible(m.label)))
	}
}

// leftOut stands where the beginning of a line is not shown.
const leftOut = "… "

// part is the piece of a long line around a place, and where it begins.
func part(line string, at int) (shown string, cut int) {
	cut = max(0, at-40)
	for cut < len(line) && cut < at && !utf8.RuneStart(line[cut]) {
		cut++
	}
	shown = clip(line[cut:], maxMarkedLine)
	if cut > 0 {
		shown = leftOut + shown
	}
	return shown, cut
}

// clip keeps at most n bytes and says so.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " …"
}

// tabStop is where terminals put a tab.
const tabStop = 8

// visible writes a text so that nothing in it acts on a terminal or hides:
// tabs become spaces, control and invisible characters their escapes.
func visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	layout(s, func(piece string) { b.WriteString(piece) })
	return b.String()
}

// width is the number of columns that visible(s) takes.
func width(s string) int {
	if plain(s) {
		return len(s)
	}
	return layout(s, func(string) {})
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// maxOver is the number of marks over one character that are shown as such: more
// would make it unreadable.
const maxOver = 2

// hides reports a character that is printable to Unicode, and not to be seen:
// joiners, selectors, fillers, and the blank of braille.
func hides(r rune) bool {
	return r >= 0x034f && (r == 0x2800 || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// layout hands out the visible form piece by piece and counts its columns.
func layout(s string, emit func(string)) (column int) {
	over := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		piece, columns := s[:size], 1
		switch {
		case r == '\t':
			columns = tabStop - column%tabStop
			piece = strings.Repeat(" ", columns)
		case r == utf8.RuneError && size == 1:
			piece = fmt.Sprintf(`\x%02x`, s[0])
			columns = len(piece)
		case hides(r):
			piece = fmt.Sprintf(`\u%04x`, r)
			columns = len(piece)
		case unicode.In(r, unicode.Mn, unicode.Me):
			if columns = 0; over == maxOver { // drawn over the character before
				piece = fmt.Sprintf(`\u%04x`, r)
				columns = len(piece)
			}
			over++
		case !unicode.IsPrint(r):
			piece = strings.Trim(strconv.QuoteRune(r), "'") // \x1b, \u202e
			columns = len(piece)
		case wide(r):
			columns = 2
		}
		if columns > 0 {
			over = 0
		}
		emit(piece)
		column += columns
		s = s[size:]
	}
	return column
}

// wideRanges are the characters that take two columns: East Asian Wide and
// Fullwidth of Unicode's EastAsianWidth.txt, neighbours joined, and emoji.
var wideRanges = [...][2]rune{
	{0x1100, 0x115f},
	{0x231a, 0x231b},
	{0x2329, 0x232a},
	{0x23e9, 0x23ec},
	{0x23f0, 0x23f0},
	{0x23f3, 0x23f3},
	{0x25fd, 0x25fe},
	{0x2614, 0x2615},
	{0x2648, 0x2653},
	{0x267f, 0x267f},
	{0x2693, 0x2693},
	{0x26a1, 0x26a1},
	{0x26aa, 0x26ab},
	{0x26bd, 0x26be},
	{0x26c4, 0x26c5},
	{0x26ce, 0x26ce},
	{0x26d4, 0x26d4},
	{0x26ea, 0x26ea},
	{0x26f2, 0x26f3},
	{0x26f5, 0x26f5},
	{0x26fa, 0x26fa},
	{0x26fd, 0x26fd},
	{0x2705, 0x2705},
	{0x270a, 0x270b},
	{0x2728, 0x2728},
	{0x274c, 0x274c},
	{0x274e, 0x274e},
	{0x2753, 0x2755},
	{0x2757, 0x2757},
	{0x2795, 0x2797},
	{0x27b0, 0x27b0},
	{0x27bf, 0x27bf},
	{0x2b1b, 0x2b1c},
	{0x2b50, 0x2b50},
	{0x2b55, 0x2b55},
	{0x2e80, 0x303e},
	{0x3041, 0x4dbf},
	{0x4e00, 0xa4cf},
	{0xa960, 0xa97f},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfe10, 0xfe19},
	{0xfe30, 0xfe6f},
	{0xff00, 0xff60},
	{0xffe0, 0xffe6},
	{0x16fe0, 0x18aff},
	{0x1aff0, 0x1b2ff},
	{0x1f004, 0x1f004},
	{0x1f0cf, 0x1f0cf},
	{0x1f18e, 0x1f18e},
	{0x1f191, 0x1f19a},
	{0x1f200, 0x1f320},
	{0x1f32d, 0x1f335},
	{0x1f337, 0x1f37c},
	{0x1f37e, 0x1f393},
	{0x1f3a0, 0x1f3ca},
	{0x1f3cf, 0x1f3d3},
	{0x1f3e0, 0x1f3f0},
	{0x1f3f4, 0x1f3f4},
	{0x1f3f8, 0x1f43e},
	{0x1f440, 0x1f440},
	{0x1f442, 0x1f4fc},
	{0x1f4ff, 0x1f53d},
	{0x1f54b, 0x1f54e},
	{0x1f550, 0x1f567},
	{0x1f57a, 0x1f57a},
	{0x1f595, 0x1f596},
	{0x1f5a4, 0x1f5a4},
	{0x1f5fb, 0x1f64f},
	{0x1f680, 0x1f6c5},
	{0x1f6cc, 0x1f6cc},
	{0x1f6d0, 0x1f6d2},
	{0x1f6d5, 0x1f6d7},
	{0x1f6dc, 0x1f6df},
	{0x1f6eb, 0x1f6ec},
	{0x1f6f4, 0x1f6fc},
	{0x1f7e0, 0x1f7f0},
	{0x1f90c, 0x1f93a},
	{0x1f93c, 0x1f945},
	{0x1f947, 0x1f9ff},
	{0x1fa70, 0x1faff},
	{0x20000, 0x3fffd},
}

func wide(r rune) bool {
	if r < wideRanges[0][0] {
		return false
	}
	lo, hi := 0, len(wideRanges)
	for lo < hi {
		mid := (lo + hi) / 2
		if wideRanges[mid][1] < r {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(wideRanges) && wideRanges[lo][0] <= r
}
