package main

import (
	"github.com/sbx-run/sbx/permit"
)

// notPermitted says what the gate refused, and what would allow it.
func (s *streams) notPermitted(e *permit.RefusedError) {
	s.say("refused", e.Error())
	if e.Kind == permit.RefusedParked {
		s.say("hint", "sbx approvals show "+e.ID+" has all of it; approve "+e.ID+" runs it, deny "+e.ID+" does not")
	}
}
