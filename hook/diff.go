package hook

import "strings"

const (
	diffContext = 3
	// maxDiff bounds the table of the comparison, in cells. Past it the whole
	// middle is shown as replaced.
	maxDiff = 1 << 21
)

// Diff shows the change like diff -u; "" when there is none.
func (c *Change) Diff() string {
	if c.Empty() {
		return ""
	}
	from, to := c.Path, c.Path
	if !c.existed {
		from = "/dev/null"
	}
	if c.remove {
		to = "/dev/null"
	}
	return "--- " + from + "\n+++ " + to + "\n" + diffLines(linesOf(c.old), linesOf(c.new))
}

func linesOf(src []byte) []string {
	if len(src) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(src), "\n"), "\n")
}

func diffLines(a, b []string) string {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	for _, l := range a[max(0, head-diffContext):head] {
		out.WriteString(" " + shownLine(l))
	}
	diffMiddle(&out, a[head:len(a)-tail], b[head:len(b)-tail])
	for _, l := range a[len(a)-tail : min(len(a), len(a)-tail+diffContext)] {
		out.WriteString(" " + shownLine(l))
	}
	return out.String()
}

// diffMiddle compares by the longest common subsequence.
func diffMiddle(out *strings.Builder, a, b []string) {
	if len(a)*len(b) > maxDiff {
		a, b = changed(out, a, b)
	}
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			out.WriteString(" " + shownLine(a[i]))
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out.WriteString("-" + shownLine(a[i]))
			i++
		default:
			out.WriteString("+" + shownLine(b[j]))
			j++
		}
	}
	changed(out, a[i:], b[j:])
}

// changed shows all of a as taken out and all of b as put in.
func changed(out *strings.Builder, a, b []string) (restA, restB []string) {
	for _, l := range a {
		out.WriteString("-" + shownLine(l))
	}
	for _, l := range b {
		out.WriteString("+" + shownLine(l))
	}
	return nil, nil
}

func shownLine(l string) string {
	l = strings.TrimSuffix(strings.TrimPrefix(l, bom), "\r")
	return strings.Map(func(r rune) rune {
		if r != '\t' && hidden(r) {
			return '�'
		}
		return r
	}, l) + "\n"
}
