//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package ssh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// look is run there once for a connection that is new: which system it is,
// whether a copy of this sbx is there, and whether one was installed. It is a
// fixed text without single quotes, for whatever shell the login has.
const look = `d=${XDG_CACHE_HOME:-$HOME/.cache}/sbx/far/HASH; printf "sbx-look\n%s\n%s\n%s\n" "$(uname -s)" "$(uname -m)" "$d"; ` +
	`if [ -x "$d/sbx" ]; then echo copied; else echo none; fi; p=$(command -v sbx) || p=; echo "$p"; if [ -n "$p" ]; then "$p" far --version 2>/dev/null; fi; echo`

// put takes the program from standard input, and keeps it when its hash is right. It
// ends with takesNone where no copy would do, whatever is tried.
const put = `set -e; umask 077; d=${XDG_CACHE_HOME:-$HOME/.cache}/sbx/far/HASH; mkdir -p "$d"; t=$d/.NAME.$$; trap "rm -f $t" EXIT; cat >"$t"; ` +
	`h=$( (sha256sum "$t" || shasum -a 256 "$t" || openssl dgst -sha256 -r "$t") 2>/dev/null | cut -c1-64); ` +
	`[ -n "$h" ] || { echo "it has no sha256sum, shasum or openssl to check a copy with" >&2; exit 9; }; ` +
	`[ "$h" = SUM ] || { echo "the copy is damaged" >&2; exit 1; }; chmod 700 "$t"; ` +
	`r=0; [ NAME != sbx ] || "$t" far --version >/dev/null 2>&1 || r=$?; case $r in 0) ;; 126) echo "it executes no copy of this program in $d" >&2; exit 9;; ` +
	`*) echo "the copy ends with status $r there" >&2; exit 1;; esac; mv -f "$t" "$d/NAME"; echo sbx-put`

const takesNone = 9

// program is the command that starts sbx there. It is found once for each
// connection and remembered beside its socket.
func (l *link) program(ctx context.Context) (string, error) {
	known, err := os.ReadFile(l.base + ".far")
	if err == nil && l.there() {
		return string(known), nil
	}
	if err := l.connect(ctx); err != nil {
		return "", err
	}
	at, err := l.find(ctx)
	if err != nil {
		return "", err
	}
	command := "exec '" + at + "' far"
	return command, os.WriteFile(l.base+".far", []byte(command), 0o600)
}

// find looks for sbx there, and copies this one when it must.
func (l *link) find(ctx context.Context) (string, error) {
	if at := l.options.Program; at != "" {
		return at, nil
	}
	unlock, err := l.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	self, err := l.self()
	if err != nil {
		return "", err
	}
	out, err := l.say(ctx, strings.ReplaceAll(look, "HASH", self.hash[:16]), nil)
	if err != nil {
		return "", err
	}
	there, err := parseLook(out)
	if err != nil {
		return "", err
	}
	switch {
	case there.installed != "" && there.version == wire.Version:
		return there.installed, nil
	case !there.takes(runtime.GOOS, runtime.GOARCH):
		return "", l.noSbx(there, fmt.Sprintf("it is a %s %s machine, on which this program for %s %s does not run", there.system, there.machine, runtime.GOOS, runtime.GOARCH))
	case there.copied:
		return path.Join(there.dir, "sbx"), nil
	}
	// What sbx needs beside itself comes first: where sbx is, the rest is.
	for _, file := range [...]string{filepath.Join(filepath.Dir(self.path), "sbx-proxy"), self.path} {
		name := "sbx"
		if file != self.path {
			name = filepath.Base(file)
			if _, err := os.Stat(file); err != nil {
				continue // lists of hosts are refused there then
			}
		}
		err := l.copy(ctx, file, name, self.hash[:16])
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == takesNone {
			words, _, _ := strings.Cut(err.Error(), ": exit status")
			return "", l.noSbx(there, words)
		}
		if err != nil {
			return "", fmt.Errorf("copy %s to %s: %w", name, l.options.Host, err)
		}
	}
	return path.Join(there.dir, "sbx"), nil
}

// noSbx says why nothing can be had there.
func (l *link) noSbx(there looked, why string) error {
	return &noSbxError{fmt.Sprintf("there is no sbx on %s that speaks with this one, and %s", l.options.Host, why), there.system + " " + there.machine}
}

// copy puts a program there.
func (l *link) copy(ctx context.Context, file, name, dir string) error {
	program, err := os.Open(file)
	if err != nil {
		return err
	}
	defer program.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, program); err != nil {
		return err
	}
	if _, err := program.Seek(0, io.SeekStart); err != nil {
		return err
	}
	out, err := l.say(ctx, strings.NewReplacer("HASH", dir, "SUM", hex.EncodeToString(sum.Sum(nil)), "NAME", name).Replace(put), program)
	if err == nil && !strings.Contains(out, "sbx-put") {
		err = errors.New("it gave no answer")
	}
	return err
}

// looked is what look has told.
type looked struct {
	system, machine string // as uname says
	dir             string
	copied          bool
	installed       string // path; empty: none
	version         int    // of the protocol that it speaks; 0: none
}

func parseLook(out string) (l looked, err error) {
	_, rest, ok := strings.Cut(out, "sbx-look\n") // before it: what start files print
	lines := strings.Split(rest, "\n")
	if !ok || len(lines) < 5 {
		return l, fmt.Errorf("look for sbx there: no answer, have %q", oneLine(out))
	}
	l.system, l.machine, l.dir, l.copied, l.installed = lines[0], lines[1], lines[2], lines[3] == "copied", lines[4]
	if len(lines) > 5 {
		l.version, _ = strconv.Atoi(strings.TrimSpace(lines[5]))
	}
	if !path.IsAbs(l.dir) || strings.ContainsAny(l.dir, "'\n\x00") {
		return l, fmt.Errorf("look for sbx there: the home directory is %q, which is no place for it", path.Dir(l.dir))
	}
	if !path.IsAbs(l.installed) || strings.ContainsAny(l.installed, "'\n\x00") {
		l.installed = "" // an alias or a function
	}
	return l, nil
}

// takes says whether that machine runs programs for a system and processor.
func (l looked) takes(system, processor string) bool {
	machines := map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
	return strings.EqualFold(l.system, system) && machines[l.machine] == processor
}

// copied is a program and its hash.
type copied struct{ path, hash string }

// self is the sbx that is copied: this program.
func (l *link) self() (copied, error) {
	at := l.options.Self
	if at == "" {
		var err error
		if at, err = os.Executable(); err != nil {
			return copied{}, err
		}
	}
	f, err := os.Open(at)
	if err != nil {
		return copied{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return copied{}, err
	}
	return copied{at, hex.EncodeToString(sum.Sum(nil))}, nil
}

// say runs a fixed text there and returns its output.
func (l *link) say(ctx context.Context, text string, in *os.File) (string, error) {
	c := l.session(inShell(text))
	var out bytes.Buffer
	var words sayings
	c.Stdout, c.Stderr = &out, &words
	if in != nil {
		c.Stdin = in
	}
	if err := c.Start(); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
	defer stop()
	err := c.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == sshFailed:
		return "", &brokenError{l.sshError(words.String(), err)}
	case err != nil:
		return "", fmt.Errorf("%s: %w", oneLine(words.String()), err)
	}
	return out.String(), nil
}

// brokenError says that the connection, not what was asked for, has failed.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }
