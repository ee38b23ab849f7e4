//go:build !unix

package approvals

import "errors"

// On systems without a lock that a dead process lets go nothing is kept: what
// nobody can be asked about is refused.

var errSystem = errors.New("nothing can be kept for a person on this system")

func (s *Store) update(func(*table) error) error { return &StoreError{s.Path, errSystem} }

func (s *Store) view(func(*table) error) error { return &StoreError{s.Path, errSystem} }
