package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// printWhole writes a text without leaving anything out: lines that are longer
// than the screen go on in the next one. Each mark stands under what it is about,
// in the line that it begins in.
func printWhole(w io.Writer, text string, marks []mark, columns int, paint func(style, string) string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	digits := len(strconv.Itoa(len(lines)))
	room := max(columns-digits-5, 20)
	start := 0
	for i, line := range lines {
		var here []mark
		here, marks = marksUntil(marks, start+len(line), i == len(lines)-1)
		margin := fmt.Sprintf("  %*d | ", digits, i+1)
		if len(lines) == 1 {
			margin = strings.Repeat(" ", len(margin))
		}
		printPieces(w, line, start, here, margin, room, paint)
		start += len(line) + 1
	}
}

// printPieces writes one line, broken where the screen ends.
func printPieces(w io.Writer, line string, start int, marks []mark, margin string, room int, paint func(style, string) string) {
	blank := strings.Repeat(" ", len(margin)-2)
	if strings.TrimSpace(margin) != "" {
		blank += "| "
	} else {
		blank += "  "
	}
	for at := 0; ; {
		end := at + fitting(line[at:], room)
		piece := line[at:end]
		fmt.Fprintln(w, strings.TrimRight(margin+visible(piece), " "))
		for _, m := range marks {
			from, to := m.span.Start-start, min(m.span.End-start, len(line))
			if from >= end && end < len(line) || to <= at && at > 0 {
				continue
			}
			left, right := max(from, at)-at, max(from, at, min(to, end))-at
			left = min(left, len(piece))
			right = min(right, len(piece))
			under := strings.Repeat("~", max(1, width(piece[:right])-width(piece[:left])))
			if from >= at {
				under = "^" + under[1:] + " " + visible(m.label)
			}
			fmt.Fprintln(w, blank+strings.Repeat(" ", width(piece[:left]))+paint(m.how, under))
		}
		if at = end; at >= len(line) {
			return
		}
		margin = blank
	}
}

// fitting is the number of bytes whose visible form takes no more columns than
// there are, and one character at least.
func fitting(s string, columns int) int {
	if plain(s[:min(len(s), columns)]) {
		return min(len(s), columns)
	}
	used, n := 0, 0
	for n < len(s) {
		_, size := utf8.DecodeRuneInString(s[n:])
		w := width(s[n : n+size])
		if s[n] == '\t' {
			w = tabStop - used%tabStop
		}
		if n > 0 && used+w > columns {
			break
		}
		used, n = used+w, n+size
	}
	return n
}
