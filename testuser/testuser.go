// Package testuser gives tests the account of an ordinary user.
//
// scripts/test-machine.sh makes a few accounts before the tests run, and takes them
// away afterwards, so that /etc/passwd stays as it is meanwhile: a command that a
// test of another package confines at that time could not read a new one
// (SECURITY.md). A test takes one of them for itself, with a new home directory.
// Where there are none, as when a single test is run, it makes one.
//
// It needs root and Linux; elsewhere a test that asks for an account is skipped.
package testuser

import (
	"os"
	"testing"
)

// User is an account that one test has for itself. It has no password, a group of
// its own, and numbers for user namespaces (/etc/subuid).
type User struct {
	Name     string
	UID, GID int
	Home     string // belongs to the user, and holds what a new one finds there
}

// Take gives the test an account until it ends. Then no process of the user may be
// left, and nothing of theirs where everybody can write: the test fails otherwise.
//
// Without an account the test fails when SBX_REQUIRE is set, and is skipped if not.
func Take(t testing.TB) User {
	t.Helper()
	u, err := take(t)
	switch {
	case err == nil:
		return u
	case os.Getenv("SBX_REQUIRE") != "":
		t.Fatalf("no ordinary user: %v", err)
	default:
		t.Skipf("no ordinary user: %v", err)
	}
	return User{}
}
