package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx/config"
	wrapped "github.com/sbx-run/sbx/sandbox/command"
	"github.com/sbx-run/sbx/wrappers"
)

var (
	sandboxKey = []string{"sandbox"}
	networkKey = []string{"sbx", "network"}
	imageKey   = []string{"sbx", "container", "image"}
)

// setupRecord is what setup has done, for --remove: a file beside the wrapper.
type setupRecord struct {
	Wrappers []string          `json:"wrappers,omitempty"` // paths
	Replaced map[string]string `json:"replaced,omitempty"` // path: the script of somebody else's that was there
	Keys     []keyRecord       `json:"keys"`
}

// keyRecord is one key: what it was, and what setup made of it.
type keyRecord struct {
	Key []string `json:"key"`
	Had *string  `json:"had"` // nil: nothing, or no text
	Set string   `json:"set"`
}

func (c *setupCall) recordPath() string { return filepath.Join(c.home, "sandbox", "setup.json") }

func (c *setupCall) readRecord() setupRecord {
	var r setupRecord
	text, err := os.ReadFile(c.recordPath())
	if err != nil || json.Unmarshal(text, &r) != nil {
		return setupRecord{}
	}
	return r
}

// changes are those of the configuration, without what is there already.
func (c *setupCall) changes(path string) []config.Change {
	var list []config.Change
	for _, want := range [...]struct {
		key   []string
		value string
	}{{sandboxKey, path}, {networkKey, string(c.net)}, {imageKey, c.image}} {
		if have, _ := config.ReadText(c.config, want.key); want.value != "" && have != want.value {
			list = append(list, config.Change{Key: want.key, Value: want.value})
		}
	}
	return list
}

// show prints what a change does to the file.
func (c *setupCall) show(s *streams, list []config.Change) {
	for _, ch := range list {
		before := "nothing"
		if have, ok := config.ReadText(c.config, ch.Key); ok {
			before = quote(have)
		}
		after := quote(ch.Value)
		if ch.Remove {
			after = "nothing"
		}
		fmt.Fprintf(s.out, "  %s: %q: %s -> %s\n", c.config, ch.Name(), before, after)
	}
}

// apply writes the wrapper, proves it, and configures it.
func (c *setupCall) apply(ctx context.Context, s *streams, o option) error {
	path := c.wrapperPath(o.kind)
	list := c.changes(path)
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of sbx: %w", err)
	}
	want, err := wrappers.Script(o.kind, self)
	if err != nil {
		return err
	}
	have, rerr := os.ReadFile(path)
	current := rerr == nil && string(have) == want
	if current && len(list) == 0 {
		fmt.Fprintf(s.out, "it is set up already: \"sandbox\" is %s\n", path)
		return c.prove(ctx, s, path)
	}
	fmt.Fprintln(s.out, "This is changed:")
	if !current {
		fmt.Fprintf(s.out, "  %s: the wrapper is written\n", path)
	}
	c.show(s, list)
	if err := c.agreed(); err != nil {
		return err
	}
	record := c.noted(path, list)
	takeBack := remember(path, c.recordPath())
	_, err = wrappers.Install(o.kind, c.home, self)
	if err == nil {
		err = c.prove(ctx, s, path)
	}
	if err == nil {
		err = writeRecord(c.recordPath(), record)
	}
	if err == nil {
		err = config.Apply(c.config, list)
	}
	if err != nil {
		takeBack()
		return err
	}
	fmt.Fprintf(s.out, "sandbox -> %s  (%s)\n", o.kind, path)
	s.hintGaps(o.capabilities.Gaps)
	return nil
}

// remember keeps what is at some paths, and returns what makes it so again: the
// files, and no directory that was not there.
func remember(paths ...string) (takeBack func()) {
	type kept struct {
		text []byte
		mode fs.FileMode
	}
	have, made := map[string]kept{}, []string(nil)
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			if text, err := os.ReadFile(path); err == nil {
				have[path] = kept{text, info.Mode().Perm()}
			}
		}
		dir := filepath.Dir(path)
		for _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist); _, err = os.Lstat(dir) {
			made = append(made, dir)
			dir = filepath.Dir(dir)
		}
	}
	return func() {
		for _, path := range paths {
			was, ok := have[path]
			if !ok {
				_ = os.Remove(path)
			} else if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, was.text) {
				_ = os.WriteFile(path, was.text, was.mode)
			}
		}
		for _, dir := range made {
			_ = os.Remove(dir) // unless somebody else has put something there
		}
	}
}

func (c *setupCall) agreed() error {
	if c.yes {
		return nil
	}
	ok, err := c.asker.agree("Change it?")
	if err == nil && !ok {
		err = errStopped
	}
	return err
}

// noted adds changes to the record of earlier ones: what was there before the
// first stays known.
func (c *setupCall) noted(path string, list []config.Change) setupRecord {
	r := c.readRecord()
	if !slices.Contains(r.Wrappers, path) {
		r.Wrappers = append(r.Wrappers, path)
		if text, err := os.ReadFile(path); err == nil && !wrapped.Ours(path) {
			if r.Replaced == nil {
				r.Replaced = map[string]string{}
			}
			r.Replaced[path] = string(text)
		}
	}
	for _, ch := range list {
		have, ok := config.ReadText(c.config, ch.Key)
		known := false
		for i := range r.Keys {
			if k := &r.Keys[i]; strings.Join(k.Key, ".") == ch.Name() {
				if known = true; !ok || have != k.Set { // somebody changed it since
					k.Had = textOrNil(have, ok)
				}
				k.Set = ch.Value
			}
		}
		if !known {
			r.Keys = append(r.Keys, keyRecord{ch.Key, textOrNil(have, ok), ch.Value})
		}
	}
	return r
}

func textOrNil(text string, ok bool) *string {
	if !ok {
		return nil
	}
	return &text
}

// writeRecord writes beside and renames, for the owner only.
func writeRecord(path string, r setupRecord) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".setup-")
	if err != nil {
		return err
	}
	_, err = temp.Write(append(text, '\n'))
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// proofTime is how long the command that proves a wrapper may take. An image may
// have to be fetched.
const proofTime = 10 * time.Minute

// prove runs one command through the wrapper, as a runtime would: it must be able
// to write in its workspace, and not beside it.
func (c *setupCall) prove(ctx context.Context, s *streams, wrapper string) error {
	base, err := provingGround()
	if err != nil {
		return fmt.Errorf("make a directory to try the wrapper in: %w", err)
	}
	defer os.RemoveAll(base)
	ws, outside := filepath.Join(base, "workspace"), filepath.Join(base, "outside")
	caches := filepath.Join(base, "caches") // of a workspace that is gone in a moment
	for _, dir := range [...]string{ws, outside, caches} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, proofTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, wrapper, "sh", "-c", `echo written >inside && ! (echo escaped >"$0") 2>/dev/null`, filepath.Join(outside, "canary"))
	cmd.Dir = ws
	cmd.Env = append(os.Environ(), workspaceVar+"="+ws, "XDG_CACHE_HOME="+caches)
	if c.image != "" {
		cmd.Env = append(cmd.Env, "PEPE_SANDBOX_IMAGE="+c.image)
	}
	if word, ok := map[networkWord]string{"off": "none", "on": "bridge"}[c.net]; ok {
		cmd.Env = append(cmd.Env, "PEPE_SANDBOX_NET="+word)
	} else if c.net != "" {
		cmd.Env = append(cmd.Env, "PEPE_SANDBOX_NET="+string(c.net))
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	fail := func(why string) error {
		if text := oneLine(said.String()); text != "" {
			why += ": " + text
		}
		return &hintedError{msg: "the wrapper does not work, and nothing was configured: " + why, hint: "sbx doctor --live says more"}
	}
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return &hintedError{msg: "it was interrupted, and nothing was configured"}
	} else if cause != nil {
		return fail("the command that proves it took more than " + proofTime.String())
	}
	if _, serr := os.Lstat(filepath.Join(outside, "canary")); serr == nil {
		return fail("a command wrote outside of its workspace")
	}
	if err != nil {
		return fail(cmp.Or(err.Error(), "it failed"))
	}
	if text, rerr := os.ReadFile(filepath.Join(ws, "inside")); rerr != nil || string(text) != "written\n" {
		return fail("a command could not write in its workspace")
	}
	fmt.Fprintln(s.out, "proved: a command through the wrapper wrote in its workspace, and could not beside it")
	return nil
}

// provingGround is a directory in the caller's home: the temp directory is one of
// the command's own inside, so that a write there would prove nothing. Where there
// is no home, it has to do.
func provingGround() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	dir, err := os.MkdirTemp(home, ".sbx-setup-")
	if err != nil && home != "" {
		dir, err = os.MkdirTemp("", "sbx-setup-")
	}
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// unset is --backend none: the runtime has no wrapper.
func (c *setupCall) unset(s *streams) error {
	if _, ok := config.ReadText(c.config, sandboxKey); !ok {
		fmt.Fprintln(s.out, "sandbox -> none (host): it is so already")
		return nil
	}
	list := []config.Change{{Key: sandboxKey, Remove: true}}
	fmt.Fprintln(s.out, "This is changed:")
	c.show(s, list)
	if err := c.agreed(); err != nil {
		return err
	}
	if err := config.Apply(c.config, list); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "sandbox -> none (host): the runtime runs its commands unconfined")
	return nil
}

// undo is --remove.
func (c *setupCall) undo(s *streams) error {
	record := c.readRecord()
	var list []config.Change
	for _, k := range record.Keys {
		have, ok := config.ReadText(c.config, k.Key)
		switch {
		case !ok || have != k.Set:
			fmt.Fprintf(s.out, "%q was changed since, and stays\n", strings.Join(k.Key, "."))
		case k.Had == nil:
			list = append(list, config.Change{Key: k.Key, Remove: true})
		default:
			list = append(list, config.Change{Key: k.Key, Value: *k.Had})
		}
	}
	written := slices.DeleteFunc(record.Wrappers, func(path string) bool {
		return filepath.Dir(path) != filepath.Join(c.home, "sandbox") || !wrapped.Ours(path)
	})
	if len(list)+len(written) == 0 {
		fmt.Fprintln(s.out, "there is nothing to take back")
		return removeIfThere(c.recordPath())
	}
	fmt.Fprintln(s.out, "This is changed:")
	c.show(s, list)
	for _, path := range written {
		what := "the wrapper is removed"
		if _, ok := record.Replaced[path]; ok {
			what = "the script that was there comes back"
		}
		fmt.Fprintf(s.out, "  %s: %s\n", path, what)
	}
	if err := c.agreed(); err != nil {
		return err
	}
	if err := config.Apply(c.config, list); err != nil {
		return err
	}
	for _, path := range written {
		err := removeIfThere(path)
		if text, ok := record.Replaced[path]; ok && err == nil {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			return err
		}
	}
	if err := removeIfThere(c.recordPath()); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(c.home, "sandbox")) // if nothing else is in it
	fmt.Fprintln(s.out, "taken back")
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
