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
	machineKey = []string{"sbx", "ssh", "host"}
)

// setupRecord is what setup has done, for --remove: a file beside the wrapper.
type setupRecord struct {
	Wrappers []string          `json:"wrappers,omitempty"` // paths
	Replaced map[string]string `json:"replaced,omitempty"` // path: the script of somebody else's that was there
	Keys     []keyRecord       `json:"keys"`
	Made     bool              `json:"made,omitempty"` // there was no configuration
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
	machine := "" // whatever names it now, the wrapper has to know
	if path == c.wrapperPath(kindSSH) {
		machine = c.file.SSH.Host
	}
	for _, want := range [...]struct {
		key   []string
		value string
	}{{sandboxKey, path}, {networkKey, string(c.net)}, {imageKey, c.image}, {machineKey, machine}} {
		if have, _ := config.ReadText(c.config, want.key); want.value != "" && have != want.value {
			list = append(list, config.Change{Key: want.key, Value: want.value})
		}
	}
	return list
}

// describe says what changes do to the file.
func (c *setupCall) describe(list []config.Change) string {
	var b strings.Builder
	for _, ch := range list {
		before := "nothing"
		if have, ok := config.ReadText(c.config, ch.Key); ok {
			before = quote(have)
		}
		after := quote(ch.Value)
		if ch.Remove {
			after = "nothing"
		}
		fmt.Fprintf(&b, "  %s: %q: %s -> %s\n", c.config, ch.Name(), before, after)
	}
	return b.String()
}

// planned says what sets up a wrapper, one line a file or key; nothing when it is so.
func (c *setupCall) planned(path, want string, list []config.Change) string {
	text := c.describe(list)
	if have, err := os.ReadFile(path); err != nil || string(have) != want {
		text = fmt.Sprintf("  %s: the wrapper is written\n", path) + text
	}
	return text
}

// apply writes the wrapper, proves it, and configures it.
func (c *setupCall) apply(ctx context.Context, s *streams, o option) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of sbx: %w", err)
	}
	path := c.wrapperPath(o.kind)
	want, err := wrappers.Script(o.kind, self)
	if err != nil {
		return err
	}
	plan := func() string { return c.planned(path, want, c.changes(path)) }
	shown, release, err := c.agreed(ctx, s, plan)
	if err != nil {
		return err
	}
	defer release()
	if shown == "" {
		fmt.Fprintf(s.out, "it is set up already: \"sandbox\" is %s\n", path)
		return c.prove(ctx, s, path)
	}
	list := c.changes(path)
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
		made = append(made, missingAbove(path)...)
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
		removeEmpty(made)
	}
}

// agreed shows what is to be done, asks whether it shall be, and keeps others from
// changing anything until it is released. When somebody did so before, what is to be done
// may be something else, and is shown again. Nothing is to be done where plan is empty.
func (c *setupCall) agreed(ctx context.Context, s *streams, plan func() string) (shown string, release func(), err error) {
	for shown = plan(); shown != ""; shown = plan() {
		fmt.Fprint(s.out, "This is changed:\n"+shown)
		if !c.yes {
			ok, err := c.asker.agree("Change it?")
			if err == nil && !ok {
				err = errStopped
			}
			if err != nil {
				return "", nil, err
			}
		}
		if release, err = s.holdHome(ctx, c.home); err != nil || plan() == shown {
			return shown, release, err
		}
		release()
		s.say("hint", "another program changed the configuration or a wrapper meanwhile; nothing is changed yet")
	}
	return "", func() {}, nil
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
	if len(r.Keys) == 0 {
		r.Made = isAbsent(c.config)
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
	cmd := exec.CommandContext(ctx, wrapper, "sh", "-c", `echo written >inside && ! (echo escaped >"$1") 2>/dev/null`, "sh", filepath.Join(outside, "canary"))
	cmd.Dir = ws
	cmd.Env = append(os.Environ(), workspaceVar+"="+ws, "XDG_CACHE_HOME="+caches)
	if c.image != "" {
		cmd.Env = append(cmd.Env, "PEPE_SANDBOX_IMAGE="+c.image)
	}
	if host := c.file.SSH.Host; host != "" {
		cmd.Env = append(cmd.Env, "PEPE_SANDBOX_SSH_HOST="+host)
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
		hint := "sbx doctor --live says more"
		if text := refusalIn(said.String()); text != "" { // says itself what to do
			why, hint = text, ""
		} else if text := oneLine(said.String()); text != "" {
			why += ": " + text
		}
		return &hintedError{msg: "the wrapper does not work, and nothing was configured: " + why, hint: hint}
	}
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return errInterrupted
	} else if cause != nil {
		return fail("the command that proves it took more than " + proofTime.String())
	}
	if _, serr := os.Lstat(filepath.Join(outside, "canary")); serr == nil {
		return fail("a command wrote outside of its workspace")
	}
	text, rerr := os.ReadFile(filepath.Join(ws, "inside"))
	wrote := rerr == nil && string(text) == "written\n"
	switch exit := (*exec.ExitError)(nil); {
	case err != nil && (wrote || !errors.As(err, &exit) || exit.ExitCode() == exitNotStarted):
		return fail(cmp.Or(err.Error(), "it failed"))
	case !wrote:
		return fail("a command could not write in its workspace " + ws)
	}
	fmt.Fprintln(s.out, "proved: a command through the wrapper wrote in its workspace, and could not beside it")
	return nil
}

// refusalIn finds what sbx said in the output of a wrapper, with its hints.
func refusalIn(said string) string {
	var parts []string
	for line := range strings.Lines(said) {
		for _, kind := range [...]string{"error", "refused", "hint"} {
			if text, ok := strings.CutPrefix(line, "sbx: "+kind+": "); ok && (kind != "hint" || len(parts) > 0) {
				parts = append(parts, strings.TrimSpace(text))
			}
		}
	}
	return strings.Join(parts, "; ")
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
func (c *setupCall) unset(ctx context.Context, s *streams) error {
	if _, ok := config.ReadText(c.config, sandboxKey); !ok {
		fmt.Fprintln(s.out, "sandbox -> none (host): it is so already")
		return nil
	}
	list := []config.Change{{Key: sandboxKey, Remove: true}}
	_, release, err := c.agreed(ctx, s, func() string { return c.describe(list) })
	if err != nil {
		return err
	}
	defer release()
	if err := config.Apply(c.config, list); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "sandbox -> none (host): the runtime runs its commands unconfined")
	return nil
}

// undoing is what --remove does.
type undoing struct {
	record  setupRecord
	list    []config.Change
	written []string // wrappers that setup has written, and that are still its own
	text    string   // that says so
}

// undoing finds it out, and the keys that stay as they are.
func (c *setupCall) undoing() (u undoing, stay []string) {
	u.record = c.readRecord()
	for _, k := range u.record.Keys {
		have, ok := config.ReadText(c.config, k.Key)
		switch {
		case !ok || have != k.Set:
			stay = append(stay, strings.Join(k.Key, "."))
		case k.Had == nil:
			u.list = append(u.list, config.Change{Key: k.Key, Remove: true})
		default:
			u.list = append(u.list, config.Change{Key: k.Key, Value: *k.Had})
		}
	}
	u.text = c.describe(u.list)
	for _, path := range u.record.Wrappers {
		if filepath.Dir(path) != filepath.Join(c.home, "sandbox") || !wrapped.Ours(path) {
			continue
		}
		what := "the wrapper is removed"
		if _, ok := u.record.Replaced[path]; ok {
			what = "the script that was there comes back"
		}
		u.written = append(u.written, path)
		u.text += fmt.Sprintf("  %s: %s\n", path, what)
	}
	return u, stay
}

// undo is --remove.
func (c *setupCall) undo(ctx context.Context, s *streams) error {
	_, stay := c.undoing()
	for _, key := range stay {
		fmt.Fprintf(s.out, "%q was changed since, and stays\n", key)
	}
	shown, release, err := c.agreed(ctx, s, func() string {
		u, _ := c.undoing()
		return u.text
	})
	if err != nil {
		return err
	}
	defer release()
	if shown == "" {
		fmt.Fprintln(s.out, "there is nothing to take back")
		return removeIfThere(c.recordPath())
	}
	u, _ := c.undoing()
	if err := config.Apply(c.config, u.list); err != nil {
		return err
	}
	if u.record.Made {
		if err := config.RemoveEmpty(c.config); err != nil {
			return err
		}
	}
	for _, path := range u.written {
		err := removeIfThere(path)
		if text, ok := u.record.Replaced[path]; ok && err == nil {
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
