// Package filter holds the system-call table of the sandbox and the BPF
// programs made of it for amd64 and arm64.
//
// The table (table.go) is commented data. The nested module in gen compiles it
// at go generate time; libseccomp gives the numbers (decision 6). What is
// shipped is the result, so the programs that load it need no C library. A program
// is made of parts:
//
//	base    always
//	nounix  no socket of the unix family; socketpair works
//	nonet   no socket of any family but unix
//
// Each set of parts is compiled into one program: the kernel goes through all of it
// for every number when it is loaded.
package filter

//go:generate go -C gen run .

// The parts of a program.
const (
	Base   = "base"
	NoUnix = "nounix"
	NoNet  = "nonet"
)

// Sets lists the parts of each program. What one part allows, the next decides.
func Sets() [][]string {
	return [][]string{{Base}, {Base, NoUnix}, {Base, NoNet}, {Base, NoUnix, NoNet}}
}

// Table is what a program of these parts says: its rows by number, and those by
// argument in the order of the parts.
func Table(parts []string) (calls, args []Rule) {
	for _, part := range parts {
		switch part {
		case Base:
			calls, args = Calls(), append(args, Args()...)
		case NoUnix:
			args = append(args, NoUnixRules()...)
		case NoNet:
			args = append(args, NoNetRules()...)
		}
	}
	return calls, args
}

// LastReviewed is the highest system call number (471, rseq_slice_yield) that
// somebody decided about. Every number above it answers ENOSYS, as a kernel
// without that call would; numbers from 424 on are the same on both
// architectures.
const LastReviewed = 471

// Answer is what the kernel does with a call.
type Answer uint8

// The answers. The zero value refuses: a forgotten field must not allow.
const (
	NotImplemented    Answer = iota // ENOSYS: programs fall back to an older call
	Allow                           //
	NotPermitted                    // EPERM
	NotSupported                    // ENOTSUP (EOPNOTSUPP)
	FamilyUnsupported               // EAFNOSUPPORT
	Denied                          // EACCES
	Invalid                         // EINVAL
)

// Rule is one row: the calls, the condition on their arguments and the answer.
type Rule struct {
	Calls  string // names of libseccomp, separated by spaces; a call that an architecture lacks is left out there
	When   []Cond // all of them; none: always
	Answer Answer
	Why    string
}

// Cond compares the low 32 bits of one argument. The kernel reads every argument
// in this table as a number of at most 32 bits, or looks at no bit above them
// (clone): a caller can put anything there.
type Cond struct {
	Arg   uint
	Op    Op
	Mask  uint32 // of Masked and AnyBit
	Value uint32 // of the others
	Last  uint32 // of Within
}

// Op is a comparison.
type Op uint8

// The comparisons that the table uses.
const (
	Masked  Op = iota // argument & Mask == Value
	AnyBit            // argument & Mask != 0
	Greater           // argument > Value
	Differs           // argument != Value
	Within            // Value <= argument <= Last
)

func masked(arg uint, mask, value uint32) Cond {
	return Cond{Arg: arg, Op: Masked, Mask: mask, Value: value}
}
func is(arg uint, value uint32) Cond      { return masked(arg, ^uint32(0), value) }
func hasAny(arg uint, bits uint32) Cond   { return Cond{Arg: arg, Op: AnyBit, Mask: bits} }
func above(arg uint, value uint32) Cond   { return Cond{Arg: arg, Op: Greater, Value: value} }
func differs(arg uint, value uint32) Cond { return Cond{Arg: arg, Op: Differs, Value: value} }
func within(arg uint, first, last uint32) Cond {
	return Cond{Arg: arg, Op: Within, Value: first, Last: last}
}
