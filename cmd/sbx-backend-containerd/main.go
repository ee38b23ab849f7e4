// Command sbx-backend-containerd runs commands for sbx in containers of containerd.
// sbx starts it; docs/helpers.md describes how.
package main

import (
	"os"

	"github.com/sbx-run/sbx/sandbox/containerd"
	"github.com/sbx-run/sbx/sandbox/helper"
)

func main() {
	os.Exit(helper.Serve(containerd.New(containerd.Options{Progress: os.Stderr}), os.Args[1:]))
}
