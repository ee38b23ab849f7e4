package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/config"
	wrapped "github.com/sbx-run/sbx/sandbox/command"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/wrappers"
)

// wrapper looks at the script that the runtime calls, and at those that sbx wrote.
func (c *doctorCall) wrapper() {
	home, err := runtimeHome()
	if err != nil {
		c.add(levelNote, err.Error(), "")
		return
	}
	if c.usable {
		c.configuredWrapper(c.file.Sandbox)
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	for _, kind := range wrappers.Kinds() {
		path := filepath.Join(home, "sandbox", kind+".sh")
		have, err := os.ReadFile(path)
		if err != nil || !wrapped.Ours(path) {
			continue
		}
		want, err := wrappers.Script(kind, self)
		switch {
		case err != nil:
		case string(have) != want:
			c.addMendable(levelWarning, path+" is not what this sbx would write: it is of another version, was changed, or calls another sbx",
				"sbx wrapper install "+kind+" writes it anew", func() error {
					release, err := c.hold(home)
					if err != nil {
						return err
					}
					defer release()
					_, err = wrappers.Install(kind, home, self)
					return err
				})
		default:
			c.add(levelOK, path+" is up to date", "")
		}
	}
}

// isStandalone finds a script that this sbx writes for machines without sbx.
func isStandalone(path string) bool {
	have, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(wrappers.StandaloneKinds(), func(kind string) bool {
		text, err := wrappers.Standalone(kind)
		return err == nil && text == string(have)
	})
}

// configuredWrapper looks at what the runtime is configured with.
func (c *doctorCall) configuredWrapper(path string) {
	if keys, err := config.ReadKeys(c.file.Path); path == "" && err == nil && slices.Contains(keys, "sandbox") {
		if _, ok := config.ReadText(c.file.Path, sandboxKey); !ok {
			c.add(levelWarning, `"sandbox" is no text: the runtime takes that for none, and runs its commands on the host`, "sbx setup")
			return
		}
	}
	if path == "" {
		c.add(levelNote, `the runtime is configured without a wrapper ("sandbox"): it runs its commands on the host`, "sbx setup")
		return
	}
	bad := func(why string) {
		c.add(levelBroken, `"sandbox": `+path+": "+why+": the runtime can run no command", "sbx setup writes a wrapper and configures it")
	}
	if !filepath.IsAbs(path) {
		bad("it is no absolute path")
		return
	}
	info, err := os.Stat(path)
	const group, world = 0o020, 0o002
	switch {
	case errors.Is(err, fs.ErrNotExist):
		bad("there is no such file")
	case err != nil:
		bad(strings.TrimPrefix(err.Error(), "stat "+path+": "))
	case !info.Mode().IsRegular():
		bad("it is no file")
	case info.Mode().Perm()&0o111 == 0:
		bad("it is not executable")
	case info.Mode().Perm()&(group|world) != 0:
		mode := info.Mode().Perm() &^ (group | world)
		c.addMendable(levelBroken, `"sandbox": `+path+": others can change it", "chmod go-w "+path, func() error { return os.Chmod(path, mode) })
	case proc.Guarded(path) != nil:
		c.add(levelBroken, `"sandbox": `+path+": "+proc.Guarded(path).Error(), "let it belong to you, or put it elsewhere: sbx setup")
	case isStandalone(path):
		c.add(levelNote, `"sandbox": `+path+" calls no sbx: there is no guard, no clean environment and no record, and it holds less (docs/wrappers.md)", "sbx setup writes one that calls sbx")
	case !wrapped.Ours(path):
		c.add(levelNote, `"sandbox": `+path+" is not of sbx's writing: what it confines is not known", "sbx probe command:"+path+" tries it")
	default:
		c.add(levelOK, `"sandbox": `+path, "")
	}
}
