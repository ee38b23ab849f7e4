// Package secretsenv takes out of an environment what must not reach a
// confined command: credentials, the addresses of live agents, and variables
// that make a program run code when it starts.
//
// Strip removes and never adds: values are read, but none leaves except inside the
// entries that are kept. Resolver is the other way round, for whoever runs the
// command: it finds the secret that a setting refers to.
package secretsenv

import (
	"slices"
	"strings"
)

// Policy says what the owner of the machine decided. All lists hold exact,
// case-sensitive names. The zero value applies the built-in rules only.
type Policy struct {
	// References are the names the configuration uses as ${NAME}. What the
	// configuration takes from the environment is a secret until shown
	// otherwise. PATH, HOME and the like survive a reference.
	References []string
	// Vault are the names under secrets.vault_env: what opens the vault, often
	// under a name that no rule would notice.
	Vault []string
	// Expose are the names under secrets.expose_env. They stay although they
	// are referenced, name a credential, hold one, or lead to an agent. Expose
	// does not excuse a variable that runs code at start.
	Expose []string
	// Allow are the names given with --env for one run. They win over every
	// rule, Vault and the variables that run code at start included.
	Allow []string
}

// Rule names the kind of rule that removed a variable.
type Rule string

// The rules, in the order in which they are asked.
const (
	RuleMalformed Rule = "malformed"        // not NAME=value, cannot be judged
	RuleVault     Rule = "vault"            // secrets.vault_env
	RuleReference Rule = "reference"        // ${NAME} in the configuration
	RuleControl   Rule = "control"          // steers sbx itself
	RuleCode      Rule = "start-code"       // runs code, or changes how a shell reads
	RuleDoor      Rule = "door"             // leads to a live agent or daemon
	RuleName      Rule = "credential-name"  // the name says credential
	RuleValue     Rule = "credential-value" // the value is or holds one
)

// Reason says why a variable is removed. It never holds a value.
type Reason struct {
	Rule Rule   `json:"rule"`
	Why  string `json:"why"` // one clause, lower case
}

// Removal is a removed name with its reason.
type Removal struct {
	Name string `json:"name"`
	Reason
}

// Nameless stands in the list of removed names for entries without a name.
// Their text may itself be a secret, so it is not repeated.
const Nameless = "(no name)"

// Strip splits an environment of NAME=value entries. kept holds the surviving
// entries in their order, byte for byte; removed holds sorted unique names.
// A name in removed has no entry in kept: of duplicates all stay or all go,
// because programs disagree on which of them counts.
func Strip(environ []string, p Policy) (kept, removed []string) {
	kept, removals := split(environ, p)
	for i, r := range removals {
		if i == 0 || r.Name != removals[i-1].Name {
			removed = append(removed, r.Name)
		}
	}
	return kept, removed
}

// Explain gives the removals of Strip with the first reason for each name.
func Explain(environ []string, p Policy) []Removal {
	_, removals := split(environ, p)
	return slices.CompactFunc(removals, func(a, b Removal) bool { return a.Name == b.Name })
}

// split returns the kept entries and the removals sorted by name, in the
// order of the environment within one name.
func split(environ []string, p Policy) ([]string, []Removal) {
	kept := make([]string, 0, len(environ))
	var removals []Removal
	for _, entry := range environ {
		name, value, ok := cut(entry)
		if !ok {
			removals = append(removals, Removal{name, Reason{RuleMalformed, "is not NAME=value"}})
			continue
		}
		if why, drop := Judge(name, value, p); drop {
			removals = append(removals, Removal{name, why})
			continue
		}
		kept = append(kept, entry)
	}
	if len(removals) == 0 {
		return kept, nil
	}
	slices.SortStableFunc(removals, func(a, b Removal) int { return strings.Compare(a.Name, b.Name) })
	kept = slices.DeleteFunc(kept, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, dup := slices.BinarySearchFunc(removals, name, func(r Removal, n string) int { return strings.Compare(r.Name, n) })
		return dup
	})
	return kept, removals
}

// cut splits an entry at its first '=', as getenv(3) does. The kernel passes
// any string on; one without a name, without '=' or with a zero byte reaches
// no program as a variable and is only good for smuggling, so it is not ok.
func cut(entry string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(entry, "=")
	switch {
	case !ok || name == "" || strings.IndexByte(name, 0) >= 0:
		return Nameless, "", false
	case strings.IndexByte(value, 0) >= 0:
		return name, "", false
	}
	return name, value, true
}

// Judge says whether a variable is removed, and why. It is pure.
func Judge(name, value string, p Policy) (why Reason, remove bool) {
	if slices.Contains(p.Allow, name) {
		return Reason{}, false
	}
	exposed := slices.Contains(p.Expose, name)
	if !exposed && slices.Contains(p.Vault, name) {
		return Reason{RuleVault, "is named in secrets.vault_env"}, true
	}
	basic := isBasic(name)
	if !exposed && !basic && slices.Contains(p.References, name) {
		return Reason{RuleReference, "is referred to by the configuration"}, true
	}
	if basic {
		return Reason{}, false
	}
	if isControl(name) {
		return Reason{RuleControl, "steers sbx itself and means nothing inside"}, true
	}
	if text := runsCode(name, value); text != "" {
		return Reason{RuleCode, text}, true
	}
	if exposed {
		return Reason{}, false
	}
	if text := opensDoor(name); text != "" {
		return Reason{RuleDoor, text}, true
	}
	if text := namesCredential(name, value); text != "" {
		return Reason{RuleName, text}, true
	}
	if text := holdsCredential(value); text != "" {
		return Reason{RuleValue, text}, true
	}
	return Reason{}, false
}

// isBasic reports the variables that programs do not work without and that
// hold no credential. Only Vault removes them. PWD is here because "pwd" is
// also a word for password.
func isBasic(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "TZ", "PWD", "OLDPWD", "TMPDIR":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// isControl reports the variables that tell sbx what to do. Left inside they
// would put a nested sbx into wrapper mode for the outer workspace.
func isControl(name string) bool {
	return strings.HasPrefix(name, "PEPE_SANDBOX_") || strings.HasPrefix(name, "SBX_")
}
