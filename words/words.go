// Package words finds the name that was meant by one that does not exist.
package words

// longest is the number of bytes of the longest word that is compared: no name
// here is that long.
const longest = 64

// Nearest returns the name that was probably meant by a word, or "". A short word
// may have one slip, a longer one as many as a third of its letters.
func Nearest(word string, names []string) string {
	best, distance := "", 1+max(1, len(word)/3)
	for _, name := range names {
		if d := edits(word, name); d < distance {
			best, distance = name, d
		}
	}
	return best
}

// edits is the number of letters to insert, remove, replace, or swap with the
// next (optimal string alignment).
func edits(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return len(a) + len(b)
	}
	var rows [3][longest + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, last, before := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}
