package sandbox

import (
	"cmp"
	"encoding/json"
)

// Trust is the report on files in the workspace that programs outside read or
// run later: what is protected is read-only where the backend can do it, and
// what appeared or changed all the same is listed here. A run that nobody looked
// after has none.
type Trust struct {
	Findings []TrustFinding `json:"findings"`
	// More is how many there were beyond those listed.
	More int `json:"more,omitempty"`
	// Incomplete says why not everything was looked at; empty: all was.
	Incomplete string `json:"scan_incomplete,omitempty"`
}

// TrustFinding is one file that deserves a look before a program outside uses it.
type TrustFinding struct {
	Path   string      // absolute; any byte but NUL
	Kind   TrustKind   // what it is
	Change TrustChange // what happened
	To     string      // where a symbolic link leads
	Undone bool        // sbx has taken it back
	Why    string      // why it matters, in a few words
}

// TrustKind says what a file is to programs outside.
type TrustKind string

// The kinds of a TrustFinding.
const (
	TrustSettings   TrustKind = "settings"   // of agents, editors and tools
	TrustShell      TrustKind = "shell"      // start file of a shell
	TrustGitConfig  TrustKind = "git-config" // or another file that says where git finds one
	TrustHook       TrustKind = "hook"       // run by git
	TrustRepository TrustKind = "repository" // a new one below the workspace
	TrustWorkflow   TrustKind = "workflow"   // run by a CI system
	TrustBuild      TrustKind = "build"      // of a build tool: the work itself, never undone
	TrustLink       TrustKind = "link"       // a symbolic link that leaves the workspace
	TrustSetID      TrustKind = "set-id"     // runs with the rights of its owner
	TrustNamed      TrustKind = "named"      // named by the owner as protected
)

// TrustChange is what happened to a file.
type TrustChange string

// The changes of a TrustFinding.
const (
	TrustAppeared TrustChange = "appeared"
	TrustChanged  TrustChange = "changed" // by the command, or by somebody else meanwhile
	TrustRemoved  TrustChange = "removed"
	// TrustShared: it has a further name (a hard link), which a rule by path does
	// not cover. It had that before the run.
	TrustShared TrustChange = "shared"
)

// trustJSON is the form on the wire; see denialJSON for the bytes.
type trustJSON struct {
	Path      string      `json:"path"`
	PathBytes []byte      `json:"path_bytes,omitempty"`
	Kind      TrustKind   `json:"kind"`
	Change    TrustChange `json:"change"`
	To        string      `json:"to,omitempty"`
	ToBytes   []byte      `json:"to_bytes,omitempty"`
	Undone    bool        `json:"undone,omitempty"`
	Why       string      `json:"why"`
}

// MarshalJSON gives a path that is not UTF-8 a second time, in base64.
func (f TrustFinding) MarshalJSON() ([]byte, error) {
	return json.Marshal(trustJSON{
		Path: f.Path, PathBytes: notText(f.Path), Kind: f.Kind, Change: f.Change,
		To: f.To, ToBytes: notText(f.To), Undone: f.Undone, Why: f.Why,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *TrustFinding) UnmarshalJSON(text []byte) error {
	var j trustJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	*f = TrustFinding{
		Path: cmp.Or(string(j.PathBytes), j.Path), Kind: j.Kind, Change: j.Change,
		To: cmp.Or(string(j.ToBytes), j.To), Undone: j.Undone, Why: j.Why,
	}
	return nil
}
