package filter

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// data is struct seccomp_data.
type data struct {
	nr, arch uint32
	args     [6]uint64
}

func (d data) word(off uint32) uint32 {
	switch {
	case off == 0:
		return d.nr
	case off == 4:
		return d.arch
	case off >= 16 && off%8 == 0:
		return uint32(d.args[(off-16)/8])
	case off >= 16:
		return uint32(d.args[(off-16)/8] >> 32)
	}
	return 0
}

// run interprets a program: the programs of both architectures are tested on
// every machine.
func run(t *testing.T, code []byte, d data) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; pc*8 < len(code); pc++ {
		in := code[pc*8:]
		op, yes, no, k := binary.LittleEndian.Uint16(in), int(in[2]), int(in[3]), binary.LittleEndian.Uint32(in[4:])
		jump := func(ok bool) {
			if ok {
				pc += yes
			} else {
				pc += no
			}
		}
		switch op {
		case 0x20:
			a = d.word(k)
		case 0x54: // and
			a &= k
		case 0x05:
			pc += int(k)
		case 0x15:
			jump(a == k)
		case 0x25:
			jump(a > k)
		case 0x35:
			jump(a >= k)
		case 0x45:
			jump(a&k != 0)
		case 0x06:
			return k
		default:
			t.Fatalf("instruction %#x at %d", op, pc)
		}
	}
	t.Fatal("the program does not end")
	return 0
}

// machine is one architecture with its own system call numbers.
type machine struct {
	name    string
	arch    uint32
	numbers map[string]uint32
}

func machines(t *testing.T) []machine {
	return []machine{
		{"amd64", 0xc000003e, numbers(t, "amd64")},
		{"arm64", 0xc00000b7, numbers(t, "arm64")},
	}
}

// numbers reads the table of golang.org/x/sys, an independent source.
func numbers(t *testing.T, arch string) map[string]uint32 {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatalf("find golang.org/x/sys: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+arch+".go"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]uint32{}
	for _, m := range regexp.MustCompile(`SYS_(\w+)\s*=\s*(\d+)`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[2])
		name := strings.ToLower(m[1])
		if name == "fstatat" { // the name on arm64 in x/sys
			name = "newfstatat"
		}
		list[name] = uint32(n)
	}
	delete(list, "arch_specific_syscall") // the start of a range, no call
	return list
}

func (m machine) program(t *testing.T, parts ...string) []byte {
	t.Helper()
	code, err := os.ReadFile(strings.Join(parts, "_") + "_" + m.name + ".bpf")
	if err != nil {
		t.Fatal(err)
	}
	return code
}
