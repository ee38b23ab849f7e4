//go:build !linux

package changes

import (
	"context"
	"errors"
	"time"
)

// Only Linux runs a command over a layer.

// Read compares layers with the real directories.
func Read([]Layer, Options) (*Changes, error) { return nil, errors.ErrUnsupported }

// Copy copies a directory to an empty one.
func Copy(string, string, *Owner, int, int64) (*Snapshot, error) { return nil, errors.ErrUnsupported }

// NewDir makes the directory of a new preview in the store.
func NewDir(string) (string, error) { return "", errors.ErrUnsupported }

// MakeLayer makes an empty directory for a layer.
func MakeLayer(string, *Owner) error { return errors.ErrUnsupported }

// Apply makes the changes real.
func (c *Changes) Apply() error { return errors.ErrUnsupported }

// Discard drops the changes.
func (c *Changes) Discard() error { return errors.ErrUnsupported }

// Diff compares the content of an entry.
func (c *Changes) Diff(Entry) (Diff, error) { return Diff{}, errors.ErrUnsupported }

// Keep stores the changes for later.
func (c *Changes) Keep(string, int64) error { return errors.ErrUnsupported }

// Load opens a preview that was kept.
func Load(string, string) (*Changes, error) { return nil, errors.ErrUnsupported }

// List gives the previews of a store.
func List(string) ([]Stored, error) { return nil, nil }

// Watch waits for ctx.
func Watch(ctx context.Context, _ []string, _ int64) bool {
	<-ctx.Done()
	return false
}

// Expire removes previews that were made before a moment.
func Expire(string, time.Time) error { return nil }
