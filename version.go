package sbx

import (
	"runtime/debug"
	"sync"
)

// release is set by the linker for a release:
// -X github.com/sbx-run/sbx.release=v1.2.3.
var release string

// Version is the version of this build: of the release, else of the module,
// else "devel".
var Version = sync.OnceValue(func() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if info.Main.Path == modulePath && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == modulePath {
			return dep.Version
		}
	}
	return "devel"
})

const modulePath = "github.com/sbx-run/sbx"
