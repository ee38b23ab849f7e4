//go:build !linux

package testuser

import (
	"errors"
	"testing"
)

func take(testing.TB) (User, error) { return User{}, errors.ErrUnsupported }
