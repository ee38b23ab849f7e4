package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
	chooser "github.com/sbx-run/sbx/sandbox/choice"
)

const versionHelp = `sbx --version: what this build is and what it can do on this host.

  sbx --version
  sbx --version --json | jq '.backends[0].enforced'
`

// versionJSON is what sbx --version --json prints.
type versionJSON struct {
	Version  string           `json:"version"`
	Go       string           `json:"go"`
	OS       string           `json:"os"`
	Arch     string           `json:"arch"`
	Backends []backendVersion `json:"backends"`
}

// backendVersion is what a backend measured here.
type backendVersion struct {
	sandbox.Capabilities
	Error string `json:"error,omitempty"`
}

func version(s *streams, args []string) int {
	f := newFlags("--version")
	asJSON := f.Bool("json", false, "")
	err := f.parse(args)
	switch {
	case errors.Is(err, errHelp):
		s.help(versionHelp)
		return exitOK
	case err == nil && len(f.operands)+len(f.after) > 0:
		err = usage("--version takes no operand", "")
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	v := versionJSON{Version: sbx.Version(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	for _, m := range chooser.RecallAll(context.Background(), sbx.Backends(), sbx.Measurements(os.Environ())) {
		v.Backends = append(v.Backends, versionOf(m))
	}
	if *asJSON {
		err = writeJSON(s.out, v)
	} else {
		err = printVersion(s, v)
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	return exitOK
}

func versionOf(m chooser.Measured) backendVersion {
	b := backendVersion{Capabilities: m.Capabilities}
	if b.Enforced == nil {
		b.Enforced = []sandbox.Control{}
	}
	if m.Err != nil {
		b.Error = m.Err.Error()
	}
	return b
}

func printVersion(s *streams, v versionJSON) error {
	var b strings.Builder
	fmt.Fprintf(&b, "sbx %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
	for _, backend := range v.Backends {
		fmt.Fprintf(&b, "backend %s:", backend.Backend)
		switch {
		case backend.Error != "":
			fmt.Fprintf(&b, " not here: %s", visible(backend.Error))
		case len(backend.Enforced) == 0:
			b.WriteString(" confines nothing")
		default:
			fmt.Fprintf(&b, " %d of %d controls", len(backend.Enforced), len(sandbox.Controls()))
		}
		for _, detail := range [...]string{backend.Tier, backend.Version} {
			if detail != "" {
				b.WriteString(", " + detail)
			}
		}
		b.WriteByte('\n')
	}
	_, err := s.out.WriteString(b.String())
	return err
}
