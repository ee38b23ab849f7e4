package changes

import "strconv"

// ApplyMeanwhile is Apply, with something that happens after everything was
// checked and before anything is changed.
func (c *Changes) ApplyMeanwhile(happens func()) error {
	a, dir, err := c.ready()
	if err != nil {
		return wrapApply(err)
	}
	defer a.close()
	happens()
	return a.carryOut(dir)
}

// CutOff is Apply, cut off after so many acts; it gives how many there are. What
// is left is what a crash leaves.
func (c *Changes) CutOff(acts int) (int, error) {
	a, _, err := c.ready()
	if err != nil {
		return 0, err
	}
	defer a.close()
	return len(a.plan.Ops), as(c.owner, func() error {
		if acts == 0 {
			return nil
		}
		for i := range a.plan.Ops {
			if o := &a.plan.Ops[i]; o.Do == adjust && o.Was.dir() && o.Was.Mode&0o300 != 0o300 {
				if err := a.openUp(o); err != nil {
					return err
				}
			}
		}
		if err := a.linkStaying(); err != nil {
			return err
		}
		for i := range min(acts, len(a.plan.Ops)) {
			if err := a.do(&a.plan.Ops[i], strconv.Itoa(i)); err != nil {
				return err
			}
		}
		return nil
	})
}
