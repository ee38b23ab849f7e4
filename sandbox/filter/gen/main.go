// Command gen compiles the table of package filter and writes one BPF file per
// program and architecture beside it. The numbers of the calls come from
// libseccomp: it needs cgo and libseccomp-dev; run it with
// "go generate ./sandbox/filter". -out writes somewhere else, which is how the
// test compares.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	seccomp "github.com/seccomp/libseccomp-golang"

	"github.com/sbx-run/sbx/sandbox/filter"
)

func main() {
	out := flag.String("out", "..", "folder for the programs")
	flag.Parse()
	if err := generate(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// machine is one architecture.
type machine struct {
	name  string
	arch  seccomp.ScmpArch
	audit uint32 // AUDIT_ARCH_…
	x32   bool   // has the calls of the x32 ABI beside its own
}

func generate(out string) error {
	for _, m := range []machine{
		{"amd64", seccomp.ArchAMD64, 0xc000003e, true},
		{"arm64", seccomp.ArchARM64, 0xc00000b7, false},
	} {
		for _, parts := range filter.Sets() {
			name := strings.Join(parts, "_")
			calls, args := filter.Table(parts)
			code, err := compile(m, calls, args)
			if err != nil {
				return fmt.Errorf("compile %s for %s: %w", name, m.name, err)
			}
			if err := os.WriteFile(filepath.Join(out, name+"_"+m.name+".bpf"), code, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
