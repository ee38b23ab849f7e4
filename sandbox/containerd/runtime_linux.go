package containerd

import (
	"fmt"
	"path"
	"strings"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/typeurl/v2"
)

// runcShim is the shim of OCI runtimes that are called like runc.
const runcShim = "io.containerd.runc.v2"

// shims are the OCI runtimes whose shims have names of their own.
var shims = map[string]string{"": runcShim, "runc": runcShim, "runsc": "io.containerd.runsc.v1", "kata": "io.containerd.kata.v2"}

// runtimeOf finds the shim of an OCI runtime: by the name of the runtime, of a
// shim (it has dots), or the path of a program that is called like runc.
func runtimeOf(name string) (containers.RuntimeInfo, error) {
	if shim, ok := shims[name]; ok {
		return containers.RuntimeInfo{Name: shim}, nil
	}
	switch {
	case path.IsAbs(name), !strings.ContainsAny(name, "/."):
		any, err := typeurl.MarshalAny(&options.Options{BinaryName: name})
		return containers.RuntimeInfo{Name: runcShim, Options: any}, err
	case strings.Contains(name, "/"):
		return containers.RuntimeInfo{}, fmt.Errorf("the OCI runtime %q is neither a name nor an absolute path", name)
	}
	return containers.RuntimeInfo{Name: name}, nil
}
