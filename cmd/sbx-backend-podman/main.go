// Command sbx-backend-podman runs commands for sbx in containers of Podman. sbx starts
// it; docs/helpers.md describes how.
package main

import (
	"os"

	"github.com/sbx-run/sbx/sandbox/docker"
	"github.com/sbx-run/sbx/sandbox/helper"
)

func main() {
	os.Exit(helper.Serve(docker.New(docker.Podman, docker.Options{Progress: os.Stderr}), os.Args[1:]))
}
