//go:build !unix

package proc

import "os"

// onlyOurs asks for existence alone: this system's rights are not in the mode.
func onlyOurs(paths ...string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return err
		}
	}
	return nil
}
