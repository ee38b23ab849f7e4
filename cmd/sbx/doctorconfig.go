package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/sandbox/proc"
	"github.com/sbx-run/sbx/secretsenv"
)

// configuration looks at the file, and whether commands would be refused for it.
func (c *doctorCall) configuration() {
	path, err := config.Locate(os.Getenv)
	if err != nil {
		c.add(levelBroken, "every command is refused: "+err.Error(), "set the variable to an absolute path, or unset it")
		return
	}
	if path == "" {
		c.add(levelNote, "there is no place for a configuration: HOME is not set", "set HOME, or PEPE_CONFIG to a file")
		return
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		c.add(levelOK, "no file "+path+": the defaults hold", "")
	}
	file, err := config.Load(os.Getenv)
	if err != nil {
		do := "correct the file"
		if errors.Is(err, fs.ErrPermission) {
			do = "let it and the directories above it belong to you (ls -ld), or name another file: PEPE_CONFIG"
		}
		c.add(levelBroken, "every command is refused: "+err.Error(), do)
		return
	}
	if over, err := config.ReadOverrides(os.Getenv); err == nil { // an error is told below
		new(sshFlags).settle(&file.SSH, over)
	}
	c.file, c.usable = file, true
	if !file.Found {
		return
	}
	c.add(levelOK, path, "")
	c.modes(path)
	c.keys(path)
	c.words()
	c.values(path)
	c.refusals()
}

// refusals finds what is well formed and yet refuses every command.
func (c *doctorCall) refusals() {
	call := newExecCall("exec")
	call.workspace = "/nonexistent" // nothing of a workspace is read there, and nothing runs
	options, err := call.settings()
	if err == nil {
		_, err = call.newEngine(options)
	}
	if err != nil {
		c.addError(levelBroken, "every command is refused: ", err)
	}
	var audit []string
	if c.file.Audit != "" {
		audit = append(audit, filepath.Dir(c.file.Audit)) // the file itself is made
	}
	for _, paths := range [...]struct {
		key  string
		list []string
	}{{"the directory of sbx.audit", audit}, {"sbx.allow_write", c.file.AllowWrite}, {"sbx.allow_read", c.file.AllowRead}, {"sbx.hide", c.file.Hide}} {
		for _, path := range paths.list {
			if _, err := os.Stat(path); err != nil {
				c.add(levelBroken, "every command is refused: "+paths.key+" "+quote(path)+": "+plainPathCause(err), "make it, or take it out of the configuration")
			}
		}
	}
}

// plainPathCause drops the path, which the message says already.
func plainPathCause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}

// addError adds a finding with the hint of an error.
func (c *doctorCall) addError(l level, what string, err error) {
	do := "correct the configuration or the variable"
	var hinted *hintedError
	if errors.As(err, &hinted) && hinted.hint != "" {
		do = hinted.hint
	}
	c.add(l, what+err.Error(), do)
}

// modes finds a file or a directory that others can read or change.
func (c *doctorCall) modes(path string) {
	before := len(c.findings)
	defer func() {
		if err := proc.Guarded(path); err != nil && len(c.findings) == before { // by its owner, or above
			c.add(levelBroken, "what confines commands: "+err.Error(), "let it belong to you, or put the file elsewhere (PEPE_HOME, PEPE_CONFIG)")
		}
	}()
	const group, world = 0o020, 0o002
	for _, at := range [...]struct {
		path  string
		loose fs.FileMode // bits that should not be there
		want  string
	}{{path, 0o077, "600"}, {filepath.Dir(path), group | world, "700"}} {
		info, err := os.Stat(at.path)
		if err != nil {
			continue
		}
		loose := info.Mode().Perm() & at.loose
		if loose == 0 {
			continue
		}
		what, l := "others can read", levelWarning
		if loose&(group|world) != 0 {
			what, l = "others can change what confines commands:", levelBroken
		}
		mode := info.Mode().Perm() &^ at.loose
		c.addMendable(l, fmt.Sprintf("%s %s (mode %04o)", what, at.path, info.Mode().Perm()), "chmod "+at.want+" "+at.path, func() error { return os.Chmod(at.path, mode) })
	}
}

// keys finds names that nobody reads.
func (c *doctorCall) keys(path string) {
	top, err := config.ReadKeys(path)
	if err != nil {
		return // said above
	}
	for _, key := range top {
		if slices.Contains(config.SharedKeys(), key) {
			continue
		}
		if hint := meant(key, config.SharedKeys(), "", ""); hint != "" {
			c.add(levelWarning, "nobody reads the key "+quote(key), hint)
		} else {
			c.add(levelNote, "sbx does not know the key "+quote(key), "nothing, if another program reads it")
		}
	}
	for _, key := range c.file.Slots.Misplaced {
		c.add(levelWarning, "sbx does not read "+quote(key[0]), "it reads "+key[1])
	}
	own := config.OwnKeys()
	for _, key := range c.file.Unknown {
		c.add(levelWarning, "nobody reads the key "+quote(key), meant(key, own, "", "the keys are listed in docs/configuration.md"))
	}
}

// values finds references to variables that are not set, and secrets in clear.
func (c *doctorCall) values(path string) {
	settings, err := config.ReadSettings(path)
	if err != nil {
		return
	}
	for _, at := range settings {
		for _, name := range config.ReferencesIn(at.Value) {
			if _, set := os.LookupEnv(name); !set {
				c.add(levelWarning, at.Path+": ${"+name+"} is not set", "set the variable "+name+" where the runtime is started")
			}
		}
		key := at.Key
		if strings.HasPrefix(at.After, "-") { // "--token", "VALUE"
			key = strings.TrimLeft(at.After, "-")
		}
		if why := secretsenv.InClear(key, at.Value); why != "" {
			c.add(levelWarning, fmt.Sprintf("%s: a secret in clear (%s): %s", at.Path, why, secretsenv.Mask(at.Value)),
				"put it into a variable and write ${NAME} here; whoever has read the file has it, so replace it at its issuer")
		}
	}
}
