package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sbx-run/sbx/config"
)

// homeLock is the file in the runtime's home that is there while its wrappers and what
// is configured with them are changed.
const homeLock = ".sbx-setup.lock"

// holdTries is how often a home is made that somebody who ends takes away.
const holdTries = 100

// holdHome keeps a second sbx from changing the wrappers of a home meanwhile: it waits
// for the first, as long as the command that proves a wrapper may take. What is made for
// the lock goes with it. A home in which nothing can be written needs none.
func (s *streams) holdHome(ctx context.Context, home string) (release func(), err error) {
	path, wait := filepath.Join(home, homeLock), time.Duration(0)
	for range holdTries {
		made := missingAbove(path)
		if err := os.MkdirAll(home, 0o700); err != nil {
			return func() {}, nil // whoever writes says it better
		}
		unlock, err := config.Hold(ctx, path, wait)
		held := (*config.HeldError)(nil)
		switch {
		case err == nil:
			return func() {
				unlock()
				removeEmpty(made)
			}, nil
		case errors.As(err, &held) && wait == 0:
			s.say("hint", "another sbx setup or sbx wrapper install is at work in "+home+"; waiting for it")
			wait = proofTime
		case errors.As(err, &held):
			return nil, &hintedError{msg: "another sbx setup or sbx wrapper install is at work in " + home + "; nothing was changed", hint: "try again when it has ended"}
		case errors.Is(err, context.Canceled):
			return nil, errInterrupted
		case errors.Is(err, fs.ErrNotExist): // the other one has taken the home away
		case isAbsent(path): // nothing can be made there: whoever writes says it better
			return func() { removeEmpty(made) }, nil
		default:
			removeEmpty(made)
			return nil, err
		}
	}
	return func() {}, nil
}

func isAbsent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// missingAbove lists the directories above a path that are not there, the lowest first.
func missingAbove(path string) (list []string) {
	dir := filepath.Dir(path)
	for isAbsent(dir) {
		list = append(list, dir)
		dir = filepath.Dir(dir)
	}
	return list
}

// removeEmpty removes directories, unless somebody has put something there.
func removeEmpty(dirs []string) {
	for _, dir := range dirs {
		_ = os.Remove(dir)
	}
}

// errInterrupted: a signal ended it.
var errInterrupted = &hintedError{msg: "it was interrupted, and nothing was configured"}
