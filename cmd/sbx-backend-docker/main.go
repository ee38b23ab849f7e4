// Command sbx-backend-docker runs commands for sbx in containers of Docker. sbx starts
// it; docs/helpers.md describes how.
package main

import (
	"os"

	"github.com/sbx-run/sbx/sandbox/docker"
	"github.com/sbx-run/sbx/sandbox/helper"
)

func main() {
	os.Exit(helper.Serve(docker.New(docker.Docker, docker.Options{Progress: os.Stderr}), os.Args[1:]))
}
