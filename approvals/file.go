package approvals

import (
	"encoding/json"
	"fmt"
	"iter"
)

// StoreError: the file cannot be used; nothing was decided.
type StoreError struct {
	Path string
	Err  error
}

func (e *StoreError) Error() string {
	return fmt.Sprintf("approvals %q: %v", e.Path, e.Err)
}

func (e *StoreError) Unwrap() error { return e.Err }

// table is the calls of one step.
type table struct {
	b   rows  // nil: there are none
	err error // of all
}

// rows are what is kept, by number.
type rows interface {
	Get(id []byte) []byte
	Put(id, text []byte) error
	Delete(id []byte) error
	ForEach(func(id, text []byte) error) error
}

func (t *table) has(id string) bool { return t.b != nil && t.b.Get([]byte(id)) != nil }

func (t *table) get(id string) (*Record, error) {
	if !t.has(id) {
		return nil, &UnknownError{id}
	}
	return decode(id, t.b.Get([]byte(id)))
}

func decode(id string, text []byte) (*Record, error) {
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", id, err)
	}
	r.ID = id
	return &r, nil
}

// all goes over the calls, which may be changed meanwhile: they are read before.
func (t *table) all() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		if t.b == nil {
			return
		}
		var list []*Record
		t.err = t.b.ForEach(func(id, text []byte) error {
			r, err := decode(string(id), text)
			list = append(list, r)
			return err
		})
		if t.err != nil {
			return
		}
		for _, r := range list {
			if !yield(r) {
				return
			}
		}
	}
}

func (t *table) put(r *Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return t.b.Put([]byte(r.ID), text)
}

func (t *table) remove(id string) error { return t.b.Delete([]byte(id)) }
