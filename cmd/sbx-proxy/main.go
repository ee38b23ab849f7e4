// Command sbx-proxy is the way out of a sandbox whose network is a list of
// rules. sbx starts it for one run and ends it with that; it is not run by hand.
package main

import (
	"os"

	"github.com/sbx-run/sbx/netproxy"
)

func main() { os.Exit(netproxy.Main(os.Args, os.Stdout, os.Stderr)) }
