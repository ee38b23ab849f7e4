package filter

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	retKill = 0x80000000
	enosys  = 38
)

// answers of Linux, written out because package syscall has those of the system
// that runs the test.
var errnos = map[Answer]uint32{
	NotImplemented: enosys, NotPermitted: 1, NotSupported: 95, FamilyUnsupported: 97, Denied: 13, Invalid: 22,
}

func code(a Answer) uint32 {
	if a == Allow {
		return retAllow
	}
	return retErrno | errnos[a]
}

// judge says what the table answers: the oracle for the compiled programs.
func judge(rules []Rule, name string, args [6]uint64, fallback uint32) uint32 {
	for _, r := range rules {
		if slices.Contains(strings.Fields(r.Calls), name) && holds(r.When, args) {
			return code(r.Answer)
		}
	}
	return fallback
}

func holds(when []Cond, args [6]uint64) bool {
	for _, c := range when {
		v := uint32(args[c.Arg])
		var ok bool
		switch c.Op {
		case Masked:
			ok = v&c.Mask == c.Value
		case AnyBit:
			ok = v&c.Mask != 0
		case Greater:
			ok = v > c.Value
		case Differs:
			ok = v != c.Value
		case Within:
			ok = c.Value <= v && v <= c.Last
		}
		if !ok {
			return false
		}
	}
	return true
}

// want is the first answer of the parts that does not allow.
func want(parts []string, name string, args [6]uint64) uint32 {
	tables := map[string][]Rule{Base: Args(), NoUnix: NoUnixRules(), NoNet: NoNetRules()}
	answer := judge(Calls(), name, args, retErrno|enosys)
	for _, part := range parts {
		if answer == retAllow {
			answer = judge(tables[part], name, args, retAllow)
		}
	}
	return answer
}

// samples are arguments that hit each rule, miss it by a bit, and carry garbage
// in the half that the kernel ignores.
func samples(r *rand.Rand) [6]uint64 {
	values := []uint64{
		0, 1, 2, 3, 9, 10, 11, 15, 16, 17, 40, 0x11, 0x80000, 0x20000, 0x10000000, 0x02000000, 0x40000000, 0x5412, 0x541c, 0o4755, 0o2755, 0o6000, 0o644,
		0o100644, 0o20644, 0o60644, 0o10644, 0o100, 0o20000000, 0o101, 0x800, 0x80003,
	}
	var args [6]uint64
	for i := range args {
		args[i] = values[r.IntN(len(values))]
		if r.IntN(4) == 0 {
			args[i] |= uint64(r.Uint32()) << 32
		}
	}
	return args
}

func TestProgramsSayWhatTheTableSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, m := range machines(t) {
		for _, parts := range Sets() {
			program := m.program(t, parts...)
			for name, nr := range m.numbers {
				for range 200 {
					args := samples(r)
					if got, want := run(t, program, data{nr, m.arch, args}), want(parts, name, args); got != want {
						t.Fatalf("%s %v %s %x: got %#x, want %#x", m.name, parts, name, args, got, want)
					}
				}
			}
		}
	}
}

func TestEveryCallWasDecidedAbout(t *testing.T) {
	rows := map[string]int{}
	for _, r := range Calls() {
		if r.Why == "" {
			t.Errorf("rule for %q has no reason", r.Calls)
		}
		for _, name := range strings.Fields(r.Calls) {
			rows[name]++
		}
	}
	for name, n := range rows {
		if n > 1 {
			t.Errorf("%s has %d rows", name, n)
		}
	}
	for _, m := range machines(t) {
		for name, nr := range m.numbers {
			if nr <= LastReviewed && rows[name] == 0 {
				t.Errorf("%s: nobody decided about %s (%d)", m.name, name, nr)
			}
			if nr > LastReviewed {
				t.Logf("%s: %s (%d) is newer than the table", m.name, name, nr)
			}
		}
	}
}

func TestUnknownNumbersAreNotImplemented(t *testing.T) {
	for _, m := range machines(t) {
		known := map[uint32]bool{}
		for _, nr := range m.numbers {
			known[nr] = true
		}
		base := m.program(t, Base)
		for nr := uint32(0); nr < 2000; nr++ {
			if !known[nr] && run(t, base, data{nr: nr, arch: m.arch}) != retErrno|enosys {
				t.Errorf("%s: number %d does not answer ENOSYS", m.name, nr)
			}
		}
	}
}

func TestOtherArchitecturesAreKilled(t *testing.T) {
	all := machines(t)
	for i, m := range all {
		for _, name := range Sets() {
			p := m.program(t, name...)
			for _, arch := range []uint32{0x40000003 /* i386 */, 0x40000028 /* arm */, all[1-i].arch} {
				if got := run(t, p, data{nr: 1, arch: arch}); got != retKill {
					t.Errorf("%s %s: a call of architecture %#x answers %#x", m.name, name, arch, got)
				}
			}
			if m.name == "amd64" {
				if got := run(t, p, data{nr: 0x40000000 | 1, arch: m.arch}); got != retKill {
					t.Errorf("%s: an x32 call answers %#x", name, got)
				}
			}
		}
	}
}

// Chained programs must answer as the strictest of them does alone.
func TestChain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, m := range machines(t) {
		parts := [][]byte{m.program(t, Base, NoUnix), m.program(t, Base), m.program(t, Base, NoNet)}
		whole := Chain(parts...)
		for name, nr := range m.numbers {
			for range 50 {
				d := data{nr, m.arch, samples(r)}
				want := uint32(retAllow)
				for _, p := range parts {
					if want = run(t, p, d); want != retAllow {
						break
					}
				}
				if got := run(t, whole, d); got != want {
					t.Fatalf("%s %s %x: got %#x, want %#x", m.name, name, d.args, got, want)
				}
			}
		}
	}
}

// The shipped programs are what the generator makes of the table.
func TestGeneratedProgramsAreCurrent(t *testing.T) {
	out := t.TempDir()
	cmd := exec.Command("go", "-C", "gen", "run", ".", "-out", out)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOFLAGS=-mod=mod")
	if text, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(os.Getenv("SBX_REQUIRE"), "libseccomp") {
			t.Fatalf("compile the table: %v\n%s", err, text)
		}
		t.Skipf("cannot compile the table here (needs cgo and libseccomp-dev): %v\n%s", err, text)
	}
	files, err := filepath.Glob(filepath.Join(out, "*.bpf"))
	if err != nil || len(files) != 2*len(Sets()) {
		t.Fatalf("generated %v, %v", files, err)
	}
	for _, f := range files {
		fresh, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		shipped, err := os.ReadFile(filepath.Base(f))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(fresh, shipped) {
			continue
		}
		t.Errorf("%s is not what the table says: run go generate ./sandbox/filter", filepath.Base(f))
	}
}
