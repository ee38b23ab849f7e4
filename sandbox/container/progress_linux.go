package container

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Progress shows how much of an image has come: one line that changes on a
// terminal, else a line now and then.
type Progress struct {
	to       io.Writer
	image    string
	terminal bool
	layers   map[string][2]int64 // have, total
	last     time.Time
	shown    bool
}

// NewProgress shows how an image comes, on a terminal or as lines. to nil: nowhere.
func NewProgress(to io.Writer, image string) *Progress {
	p := &Progress{to: to, image: image, layers: map[string][2]int64{}}
	if f, ok := to.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			p.terminal = info.Mode()&os.ModeCharDevice != 0
		}
	}
	switch { // the registry may take long before it says how much there is
	case to == nil:
	case p.terminal:
		fmt.Fprintf(to, clearLine+"sbx: pulling %s", image)
		p.shown = true
	default:
		fmt.Fprintf(to, "sbx: pulling %s\n", image)
	}
	return p
}

// clearLine empties the line of a terminal.
const clearLine = "\r\x1b[K"

// Between two lines.
const (
	terminalPace = 100 * time.Millisecond
	linePace     = 5 * time.Second
)

// Layer has got so many bytes.
func (p *Progress) Layer(id string, have, total int64) {
	if p.to == nil || total <= 0 {
		return
	}
	p.layers[id] = [2]int64{have, total}
	pace := linePace
	if p.terminal {
		pace = terminalPace
	}
	if now := time.Now(); now.Sub(p.last) >= pace {
		p.last = now
		p.print()
	}
}

func (p *Progress) print() {
	var have, total int64
	for _, l := range p.layers {
		have, total = have+l[0], total+l[1]
	}
	const mib = 1 << 20
	if !p.terminal {
		fmt.Fprintf(p.to, "sbx: pulling %s: %.1f of %.1f MiB\n", p.image, float64(have)/mib, float64(total)/mib)
		return
	}
	const width = 30
	filled := int(width * have / max(total, 1))
	fmt.Fprintf(p.to, clearLine+"sbx: pulling %s [%s%s] %.1f of %.1f MiB", p.image,
		strings.Repeat("#", min(filled, width)), strings.Repeat(".", max(width-filled, 0)), float64(have)/mib, float64(total)/mib)
	p.shown = true
}

// End takes the bar away.
func (p *Progress) End() {
	if p.to != nil && p.terminal && p.shown {
		fmt.Fprint(p.to, clearLine)
	}
}
