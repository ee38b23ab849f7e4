// Package container is what running a command in a container of its own means,
// whichever engine makes the container: what the command sees of this machine,
// what holds and what is a gap, who the container belongs to, and how a command
// gets in and its result out. The first process of the container is sbx's
// (package pid1): it gets the command's streams as descriptors, so the engine
// must be of this machine. An Engine makes, starts and removes containers; the
// backends docker and containerd have one each.
package container

import (
	"fmt"

	"github.com/sbx-run/sbx/sandbox"
)

// Unavailable is an error of an engine, in one sentence: it cannot be used, or
// not for this profile. Doing may be empty.
func Unavailable(engine, doing string, err error) error {
	return fmt.Errorf("%s: %s: %w", engine, sentence(doing, err), sandbox.ErrUnavailable)
}

// NotStarted is an error after which nothing has run.
func NotStarted(engine, doing string, err error) error {
	return fmt.Errorf("%s: %s: %w", engine, sentence(doing, err), sandbox.ErrStart)
}

func sentence(doing string, err error) string {
	if doing == "" {
		return err.Error()
	}
	return doing + ": " + err.Error()
}
