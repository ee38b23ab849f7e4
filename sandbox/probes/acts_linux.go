//go:build amd64 || arm64

package probes

// act is one thing that the probe program tries. It returns nil when it got
// through.
type act struct {
	name string
	do   func(arguments) error
}

// acts lists them all.
func acts() []act {
	var all []act
	for _, list := range [][]act{fileActs(), processActs(), callActs(), socketActs(), sharedActs(), terminalActs(), workActs(), limitActs()} {
		all = append(all, list...)
	}
	return all
}
