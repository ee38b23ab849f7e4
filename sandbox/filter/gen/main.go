// Command gen compiles the table of package filter with libseccomp and writes
// one BPF file per program and architecture beside it. It needs cgo and
// libseccomp-dev; run it with "go generate ./sandbox/filter". -out writes
// somewhere else, which is how the test compares.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	seccomp "github.com/seccomp/libseccomp-golang"

	"github.com/sbx-run/sbx/sandbox/filter"
)

func main() {
	out := flag.String("out", "..", "folder for the programs")
	version := flag.Bool("version", false, "print the version of libseccomp")
	flag.Parse()
	if *version {
		major, minor, micro := seccomp.GetLibraryVersion()
		fmt.Printf("%d.%d.%d\n", major, minor, micro)
		return
	}
	if err := generate(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(out string) error {
	arches := []struct {
		name  string
		arch  seccomp.ScmpArch
		audit uint32 // AUDIT_ARCH_…
	}{{"amd64", seccomp.ArchAMD64, 0xc000003e}, {"arm64", seccomp.ArchARM64, 0xc00000b7}}
	for _, a := range arches {
		numbers, err := triage(a.arch, a.audit)
		if err != nil {
			return fmt.Errorf("number calls: %w", err)
		}
		args, err := compile(a.arch, filter.Args())
		if err != nil {
			return fmt.Errorf("compile args: %w", err)
		}
		nounix, err := compile(a.arch, filter.NoUnixRules())
		if err != nil {
			return fmt.Errorf("compile nounix: %w", err)
		}
		nonet, err := compile(a.arch, filter.NoNetRules())
		if err != nil {
			return fmt.Errorf("compile nonet: %w", err)
		}
		for _, p := range []struct {
			name string
			code []byte
		}{{filter.Base, filter.Join(numbers, args)}, {filter.NoUnix, nounix}, {filter.NoNet, nonet}} {
			file := filepath.Join(out, p.name+"_"+a.name+".bpf")
			if err := os.WriteFile(file, p.code, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// compile makes one program that allows what no rule refuses.
func compile(arch seccomp.ScmpArch, rules []filter.Rule) ([]byte, error) {
	f, err := seccomp.NewFilter(seccomp.ActAllow)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	if err := prepare(f, arch); err != nil {
		return nil, err
	}
	for _, r := range rules {
		if err := add(f, r); err != nil {
			return nil, err
		}
	}
	return export(f)
}

func prepare(f *seccomp.ScmpFilter, arch seccomp.ScmpArch) error {
	native, err := seccomp.GetNativeArch()
	if err != nil {
		return err
	}
	if arch != native {
		if err := f.AddArch(arch); err != nil {
			return err
		}
		if err := f.RemoveArch(native); err != nil {
			return err
		}
	}
	// Another architecture on the same kernel (i386, x32) has other numbers:
	// nothing that is decided here would hold.
	if err := f.SetBadArchAction(seccomp.ActKillProcess); err != nil {
		return err
	}
	// 2: a binary tree over the numbers; the kernel walks it once per number
	// when the program is loaded.
	return f.SetOptimize(2)
}

func add(f *seccomp.ScmpFilter, r filter.Rule) error {
	action := answer(r.Answer)
	for name := range strings.FieldsSeq(r.Calls) {
		call, err := seccomp.GetSyscallFromName(name)
		if err != nil {
			return fmt.Errorf("call %q: %w", name, err)
		}
		if len(r.When) == 0 {
			err = f.AddRule(call, action)
		} else {
			var conds []seccomp.ScmpCondition
			if conds, err = conditions(r.When); err == nil {
				err = f.AddRuleConditional(call, action, conds)
			}
		}
		if err != nil {
			return fmt.Errorf("rule for %q: %w", name, err)
		}
	}
	return nil
}

func answer(a filter.Answer) seccomp.ScmpAction {
	if a == filter.Allow {
		return seccomp.ActAllow
	}
	return seccomp.ActErrno.SetReturnCode(int16(errno(a)))
}

func errno(a filter.Answer) syscall.Errno {
	return map[filter.Answer]syscall.Errno{
		filter.NotImplemented:    syscall.ENOSYS,
		filter.NotPermitted:      syscall.EPERM,
		filter.NotSupported:      syscall.ENOTSUP,
		filter.FamilyUnsupported: syscall.EAFNOSUPPORT,
		filter.Denied:            syscall.EACCES,
		filter.Invalid:           syscall.EINVAL,
	}[a]
}

func conditions(when []filter.Cond) ([]seccomp.ScmpCondition, error) {
	var out []seccomp.ScmpCondition
	for _, c := range when {
		var cond seccomp.ScmpCondition
		var err error
		switch c.Op {
		case filter.Masked:
			cond, err = seccomp.MakeCondition(c.Arg, seccomp.CompareMaskedEqual, c.Mask, c.Value)
		case filter.Greater:
			cond, err = seccomp.MakeCondition(c.Arg, seccomp.CompareGreater, c.Value)
		case filter.Differs:
			cond, err = seccomp.MakeCondition(c.Arg, seccomp.CompareNotEqual, c.Value)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, cond)
	}
	return out, nil
}

// export reads the program back through a file: libseccomp before 2.6 has no
// export to memory.
func export(f *seccomp.ScmpFilter) ([]byte, error) {
	tmp, err := os.CreateTemp("", "bpf")
	if err != nil {
		return nil, err
	}
	defer tmp.Close()
	defer os.Remove(tmp.Name())
	if err := f.ExportBPF(tmp); err != nil {
		return nil, err
	}
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(tmp)
}
