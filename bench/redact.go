//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"syscall"

	"github.com/sbx-run/sbx/redact"
)

// redactBytes of output lose their credentials for each figure.
const redactBytes = 256 << 20

// redactSpeed measures how fast credentials are taken out of output, in bytes for
// each second of processor time, which is what one core does: a build's output
// without any, and one in which each hundredth line holds one.
func redactSpeed(w io.Writer, _ options) error {
	const target = 200
	plain := "[ 12%] Building C object src/main.c.o  -DNDEBUG -I/usr/include  key=value token_count=12 ok\n"
	secret := "export API_TOKEN=a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ of correct-horse-battery-staple\n"
	values := redact.Prepare([]string{"correct-horse-battery-staple", "another-secret-of-the-environment", "postgres://app:pa55word@db/app"})
	fmt.Fprintf(w, "\nCredentials taken out of output, best of 3, MB for each second of one core (target at least %d)\n", target)
	for _, text := range []struct {
		name string
		lump string
	}{
		{"a build without one", plain},
		{"one in each hundredth line", string(bytes.Repeat([]byte(plain), 99)) + secret},
	} {
		block := bytes.Repeat([]byte(text.lump), 64<<10/len(text.lump)+1)[:64<<10]
		best := 0.0
		for range 3 {
			before, err := processorTime()
			if err != nil {
				return err
			}
			out := values.Writer(io.Discard, true)
			for range redactBytes / len(block) {
				if _, err := out.Write(block); err != nil {
					return err
				}
			}
			if err := out.Close(); err != nil {
				return err
			}
			after, err := processorTime()
			if err != nil {
				return err
			}
			best = max(best, float64(redactBytes)/1e6/(after-before))
		}
		fmt.Fprintf(w, "  %8.0f  %s (%s)\n", best, text.name, verdict(best >= target))
	}
	return nil
}

// processorTime is what this process has used, in seconds.
func processorTime() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9, nil
}
