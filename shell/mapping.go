package shell

// mapping takes an offset of one text to an offset of the text around it. The
// zero value is the identity.
type mapping struct {
	base  int     // added
	table []int32 // looked up, when not nil
	fixed bool    // everything is at base
	outer *mapping
	gaps  []int // offsets of bytes that were inserted, when not nil
}

func shift(n int) mapping        { return mapping{base: n} }
func fixedAt(n int) mapping      { return mapping{base: n, fixed: true} }
func without(gaps []int) mapping { return mapping{gaps: gaps} }
func (m mapping) identity() bool {
	return m.base == 0 && m.table == nil && !m.fixed && m.outer == nil && m.gaps == nil
}

func (m mapping) in(o mapping) mapping {
	if o.identity() {
		return m
	}
	if m.identity() {
		return o
	}
	outer := o
	if m.outer != nil {
		outer = m.outer.in(o)
	}
	m.outer = &outer
	return m
}

func (m mapping) at(off int) int {
	for i := len(m.gaps) - 1; i >= 0; i-- {
		if off > m.gaps[i] {
			off--
		}
	}
	switch {
	case m.fixed:
		off = m.base
	case m.table != nil && len(m.table) == 0:
		off = m.base
	case m.table != nil:
		if off >= len(m.table) {
			off = int(m.table[len(m.table)-1]) + 1
		} else {
			off = int(m.table[max(0, off)])
		}
	default:
		off += m.base
	}
	if m.outer != nil {
		return m.outer.at(off)
	}
	return off
}
