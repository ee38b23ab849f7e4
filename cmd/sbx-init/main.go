// Command sbx-init is the first process of the containers that sbx makes. It is
// not called by hand.
package main

import (
	"os"

	"github.com/sbx-run/sbx/sandbox/pid1"
)

func main() { os.Exit(pid1.Main(os.Args[1:])) }
