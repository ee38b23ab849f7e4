package approvals

import (
	"context"
	"encoding/json"

	"github.com/sbx-run/sbx/permit"
)

// Lot is a Store as the Parking of a gate.
type Lot struct {
	Store *Store
	// Origin says what is needed to run the call again; nil: nothing.
	Origin func(permit.Waiting) (json.RawMessage, error)
}

// Park keeps a call.
func (l Lot) Park(_ context.Context, w permit.Waiting) (string, error) {
	var origin json.RawMessage
	if l.Origin != nil {
		var err error
		if origin, err = l.Origin(w); err != nil {
			return "", err
		}
	}
	return l.Store.Park(w, origin)
}
