//go:build !unix

package config

import (
	"context"
	"errors"
	"os"
	"time"
)

// lockFile fails: without a lock two programs would lose each other's grants.
func lockFile(context.Context, string, time.Duration) (*os.File, error) {
	return nil, errNoLock
}

// Hold fails, too.
func Hold(context.Context, string, time.Duration) (func(), error) { return nil, errNoLock }

var errNoLock = errors.New("nothing can be locked on this system, so that nothing is written; write it by hand")

func keepOwner(*os.File, os.FileInfo) error { return nil }

func syncDir(string) {}
