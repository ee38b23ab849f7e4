//go:build amd64 || arm64

package notify

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	stopped = unix.SECCOMP_RET_USER_NOTIF
	passed  = unix.SECCOMP_RET_ALLOW
)

// answerOf runs a filter as the kernel does.
func answerOf(t *testing.T, acts Acts, arch, nr uint32, args [6]uint64) uint32 {
	t.Helper()
	data := make([]byte, offArgs, 64)
	binary.LittleEndian.PutUint32(data[offNumber:], nr)
	binary.LittleEndian.PutUint32(data[offArch:], arch)
	for _, a := range args {
		data = binary.LittleEndian.AppendUint64(data, a)
	}
	code := Filter(acts)
	var a uint32
	for pc := 0; pc < len(code); pc++ {
		i := code[pc]
		holds := false
		switch i.Code {
		case opLoad:
			a = binary.LittleEndian.Uint32(data[i.K:])
			continue
		case opReturn:
			return i.K
		case opEqual:
			holds = a == i.K
		case opSet:
			holds = a&i.K != 0
		default:
			t.Fatalf("instruction %d is %#x", pc, i.Code)
		}
		if holds {
			pc += int(i.Jt)
		} else {
			pc += int(i.Jf)
		}
	}
	t.Fatal("ran off the end")
	return 0
}

func TestFilterStopsWhatIsListed(t *testing.T) {
	writes := Of(Write, Truncate, Create, Delete, DeleteDir, Rename, Link)
	all := writes | Of(Mode, Owner, Times)
	numbers := map[uint32]call{}
	for _, c := range calls() {
		if _, twice := numbers[c.nr]; twice {
			t.Errorf("%s stands twice", c.name)
		}
		numbers[c.nr] = c
	}
	for nr := uint32(0); nr < 500; nr++ {
		c, listed := numbers[nr]
		for _, set := range []Acts{writes, all, all | Of(Read)} {
			for _, flags := range []uint64{0, unix.O_RDONLY | unix.O_CLOEXEC | unix.O_DIRECTORY, unix.O_WRONLY, unix.O_RDWR, unix.O_CREAT, unix.O_TRUNC, unix.O_TMPFILE, 1 << 40} {
				var args [6]uint64
				want := uint32(passed)
				if listed {
					if c.flags != none {
						args[c.flags] = flags
					}
					opening := c.act == Write && c.flags != none
					if set.has(c.act) && (!opening || set.has(Read) || uint32(flags)&opensForWriting != 0) {
						want = stopped
					}
				}
				if got := answerOf(t, set, auditArch, nr, args); got != want {
					t.Errorf("call %d %s with %#x: %#x, want %#x", nr, c.name, flags, got, want)
				}
				if got := answerOf(t, set, unix.AUDIT_ARCH_I386, nr, args); got != passed {
					t.Errorf("call %d of another architecture: %#x", nr, got)
				}
			}
		}
	}
}
