//go:build !unix

package sbx

import "os"

const noFollow = 0

func openLock(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
}

// lockAlone never succeeds where there is no lock: then nothing is emptied.
func lockAlone(*os.File) bool { return false }

func lockShared(*os.File) error { return nil }

// hasName: nothing is removed where there is no lock.
func hasName(*os.File) bool { return true }

// lockWriting: an append is one call, which is all there is.
func lockWriting(*os.File) bool { return true }

func unlock(*os.File) {}

const (
	noWait     = 0
	ownerModes = false
)
