package probes

import "github.com/sbx-run/sbx/sandbox"

// The modes in which Main is started, and what an act's exit status means.
const (
	modeAct       = "__act"
	modeSupervise = "__supervise"
	modeVictim    = "__victim"
	modeLinger    = "__linger"

	exitOpen    = 0
	exitRefused = 20          // the system call in question was refused; its errno is printed
	exitSetup   = 21          // something before it failed
	reached     = "reached\n" // printed just before the act: what came before does not count
)

// Helper reports whether these arguments (without the program's name) are a
// call of the probe program.
func Helper(args []string) bool {
	if len(args) == 0 {
		return false
	}
	switch args[0] {
	case modeAct, modeSupervise, modeVictim, modeLinger:
		return true
	}
	return false
}

// Open finds the backend that an order names.
type Open func(name string, without []string) (sandbox.Backend, error)
