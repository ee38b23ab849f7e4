// Package wrappers holds the ready-made scripts that an agent runtime calls
// for every command, and installs them: those that call sbx, and those for
// machines without it.
package wrappers

import (
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox/credentials"
	"github.com/sbx-run/sbx/words"
)

//go:embed *.sh standalone/*.sh
var files embed.FS

//go:embed Dockerfile
var dockerfile string

// Dockerfile is that of an image with what most commands call. Its arguments are
// BASE, an image, and PACKAGES, names of Debian packages.
func Dockerfile() string { return dockerfile }

// Unfinished is the label of what a build from it made that did not come to its end.
const Unfinished = "run.sbx.image=unfinished"

// kind is one wrapper.
type kind struct {
	name       string
	backend    string // of sbx, that the script names
	standalone bool   // there is one that needs no sbx
	about      string
}

var kinds = [...]kind{
	{"bwrap", "bwrap", true, "confined by bubblewrap (Linux)"},
	{"containerd", "containerd", false, "in a container of containerd"},
	{"direct", "direct", false, "confined by the kernel, nothing to install (Linux)"},
	{"docker", "docker", true, "in a container of Docker, or of Podman"},
	{"firejail", "firejail", true, "confined by firejail (Linux)"},
	{"macos", "seatbelt", true, "confined by sandbox-exec (macOS)"},
	{"podman", "podman", true, "in a container of Podman"},
	{"ssh", "ssh", true, "on another machine"},
}

// Kinds lists the scripts, sorted.
func Kinds() []string { return names(func(kind) bool { return true }) }

// StandaloneKinds lists those that there are for machines without sbx.
func StandaloneKinds() []string { return names(func(k kind) bool { return k.standalone }) }

func names(keep func(kind) bool) []string {
	var list []string
	for _, k := range kinds {
		if keep(k) {
			list = append(list, k.name)
		}
	}
	return list
}

// About says in a few words what a kind does with a command.
func About(name string) string { return find(name).about }

// Backend is the backend of sbx that the script of a kind names.
func Backend(name string) string { return find(name).backend }

func find(name string) kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return kind{}
}

// placeholder stands in a script, with its quotes, for the quoted path of sbx.
const placeholder = "'@SBX@'"

// Script is the text of a wrapper that calls the sbx at an absolute path.
func Script(kind, sbxPath string) (string, error) {
	switch {
	case !slices.Contains(Kinds(), kind):
		return "", unknownKind(kind, Kinds())
	case !filepath.IsAbs(sbxPath):
		return "", fmt.Errorf("wrapper %q: path of sbx %q: want an absolute path", kind, sbxPath)
	case strings.ContainsAny(sbxPath, "\n\x00"):
		return "", fmt.Errorf("wrapper %q: path of sbx %q: holds a line break or a zero byte", kind, sbxPath)
	}
	s := text(kind + ".sh")
	if name := filepath.Base(sbxPath); plain(name) {
		s = strings.ReplaceAll(s, `"sbx wrapper install `, `"`+name+` wrapper install `)
	}
	return strings.Replace(s, placeholder, quote(sbxPath), 1), nil
}

// plain says that a name means nothing to a shell, in quotes or a comment.
func plain(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// Standalone is the text of a wrapper for machines without sbx: what several of
// them have in common stands in parts of their own.
func Standalone(kind string) (string, error) {
	if !slices.Contains(StandaloneKinds(), kind) {
		return "", unknownKind(kind, StandaloneKinds())
	}
	s := text("standalone/" + kind + ".sh")
	for _, part := range [...]string{"common", "container", "hide"} {
		s = strings.Replace(s, "@"+strings.ToUpper(part)+"@\n", text("standalone/"+part+".sh"), 1)
	}
	s = strings.Replace(s, "@HOME_PLACES@", patterns(credentials.Home()), 1)
	return strings.Replace(s, "@SYSTEM_PLACES@", patterns(credentials.System()), 1), nil
}

// text is an embedded file, without the lines that are for linters alone.
func text(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the list of kinds and the embedded files differ
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "# shellcheck shell=") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// patterns lists places as patterns of the shell, some to a line. Their blanks
// would be read as ends.
func patterns(places []credentials.Place) string {
	var b strings.Builder
	width := 0
	for i, p := range places {
		word := strings.ReplaceAll(p.Path, " ", "?")
		if width += len(word) + 1; width > 100 {
			b.WriteString("\n")
			width = len(word)
		} else if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(word)
	}
	return b.String()
}

// quote makes one word of a POSIX shell out of any bytes: inside single quotes
// nothing is special but the single quote.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// unknownKind lists the kinds, and names one that may have been meant.
func unknownKind(kind string, known []string) error {
	hint := ""
	if near := words.Nearest(strings.ToLower(kind), known); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	return fmt.Errorf("wrapper %q: unknown kind%s (kinds: %s)", kind, hint, strings.Join(known, ", "))
}
