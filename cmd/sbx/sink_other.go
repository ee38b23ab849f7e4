//go:build !unix

package main

import "errors"

// inherited knows only the standard streams here.
func inherited(fd int) error {
	if fd != 1 && fd != 2 {
		return errors.New("only 1 and 2 can be used on this system")
	}
	return nil
}
