package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// What a wrapper is told by. The first three are the contract; a wrapper may
// ignore the others.
const (
	workspaceVar = "PEPE_SANDBOX_CWD"
	networkVar   = "PEPE_SANDBOX_NET"   // none, bridge; with the claim network-rules also allow:RULE,…
	memoryVar    = "PEPE_SANDBOX_MEM"   // bytes, when a limit is set
	writeVar     = "PEPE_SANDBOX_WRITE" // further directories to share, one a line
	hideVar      = "PEPE_SANDBOX_HIDE"  // what must not be read beside credentials, one a line
	tempVar      = "PEPE_SANDBOX_TMP"   // the directory that is to be /tmp
	userVar      = "PEPE_SANDBOX_USER"  // uid:gid

	// withinVar says which wrapper this process was started by.
	withinVar = "SBX_WITHIN_WRAPPER"
)

// engineVars are where the command lines of engines are told about their engine.
// A wrapper needs them, and none is a credential.
var engineVars = [...]string{
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "CONTAINER_HOST", "CONTAINERS_CONF",
	"CONTAINERS_STORAGE_CONF", "CONTAINERD_ADDRESS", "CONTAINERD_NAMESPACE", "XDG_RUNTIME_DIR",
}

// wrapperEnv is what a wrapper is started with: the command's environment, the
// contract, and the wrapper's own settings of the caller's environment. Whether a
// wrapper shares sbx's private directories is not known, so that no variable may
// name them: /tmp is there in every sandbox.
func wrapperEnv(env []string, b *Backend, p sandbox.Profile) []string {
	var list []string
	seen := map[string]bool{}
	add := func(name, value string) {
		if value != "" {
			list, seen[name] = append(list, name+"="+value), true
		}
	}
	add(workspaceVar, p.Workspace)
	add(networkVar, network(b, p))
	if p.Limits.MemoryBytes > 0 {
		add(memoryVar, strconv.FormatInt(p.Limits.MemoryBytes, 10))
	}
	add(writeVar, lines(p.Write))
	add(hideVar, lines(p.Hide))
	add(tempVar, p.Private.Temp)
	if i := p.Identity; i != nil && b.options.User {
		add(userVar, fmt.Sprintf("%d:%d", i.UID, i.GID))
	}
	add(withinVar, b.path)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PEPE_SANDBOX_") && !seen[name] && !told(name) {
			add(name, value)
		}
	}
	for _, name := range engineVars {
		add(name, os.Getenv(name))
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case seen[name] || strings.HasPrefix(name, "PEPE_SANDBOX_"):
		case p.Private.Temp != "" && within(value, p.Private.Temp):
			list = append(list, name+"=/tmp")
		case p.Private.Cache != "" && within(value, p.Private.Cache):
		default:
			list = append(list, entry)
		}
	}
	return list
}

// told says whether a variable is for sbx alone to set: one of the caller's would
// say something that the profile does not.
func told(name string) bool {
	return name == writeVar || name == hideVar || name == tempVar || name == userVar
}

func network(b *Backend, p sandbox.Profile) string {
	switch p.Network {
	case sandbox.NetworkNone:
		return "none"
	case sandbox.NetworkRules:
		if b.why(sandbox.RulesHeld, p) == "" {
			return p.NetworkSetting()
		}
	}
	return "bridge"
}

// lines joins paths. One with a line break is left out: it would be read as two.
func lines(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		if !strings.Contains(path, "\n") {
			b.WriteString(path + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// callsSbx stands in every wrapper that `sbx wrapper install` writes, and in no
// other.
const callsSbx = `exec "$sbx" exec `

// Ours says whether a file is a wrapper that calls sbx, or sbx itself. Such a
// file is how a runtime reaches sbx, and no sandbox of its own.
func Ours(path string) bool {
	if self, err := os.Executable(); err == nil {
		a, aerr := os.Stat(self)
		b, berr := os.Stat(path)
		if aerr == nil && berr == nil && os.SameFile(a, b) {
			return true
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return err == nil && bytes.HasPrefix(head, []byte("#!")) && bytes.Contains(head, []byte(callsSbx))
}
