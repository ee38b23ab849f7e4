//go:build !linux && !darwin

package main

import (
	"errors"
	"os"
)

// canReadKeys says that single keys can be read on this system.
const canReadKeys = false

func rawTerminal(*os.File) (restore func(), err error) {
	return nil, errors.ErrUnsupported
}
