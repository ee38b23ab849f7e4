//go:build unix

package probes

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sbx-run/sbx/sandbox"
)

// The acts of most rows are system calls of Linux. Elsewhere those are tried that
// a shell can do as well: this runner needs no probe program. What it cannot try
// it says.

// shellActs are acts in the words of sh. "$1" is the act's first argument.
func shellActs() map[string]string {
	return map[string]string{
		"nothing": `:`,
		"create":  `: >"$1"`, "write": `echo changed >"$1"`, "append": `echo more >>"$1"`, "open-truncate": `: >"$1"`,
		"mkdir": `mkdir "$1"`, "symlink": `ln -s "$1" "$2"`, "symlink-write": `ln -s "$1" "$2" && echo changed >"$2"`,
		"mkfifo": `mkfifo "$1"`, "link": `ln "$1" "$2"`, "link-write": `ln "$1" "$2" && echo changed >"$2"`,
		"rename": `mv "$1" "$2"`, "unlink": `rm -f "$1" && ! test -e "$1"`, "rmdir": `rmdir "$1"`,
		"utime": `touch -t 200101010000 "$1"`, "chmod": `chmod 0600 "$1"`, "read": `cat "$1"`, "list": `ls -a "$1" | grep -q "$2"`,
		"kill": `kill -"$2" "$1"`,
	}
}

// portable is one run of the suite by a shell.
type portable struct {
	backend  sandbox.Backend
	options  Options
	base     string
	secret   string
	reached  atomic.Int64 // connections to the listener
	listener int          // descriptor; -1: none yet
	port     string
}

// runPortable tries the rows that a shell can do.
func runPortable(ctx context.Context, b sandbox.Backend, o Options) (Report, error) {
	found, err := b.Probe(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("probe %s: %w", b.Name(), err)
	}
	p := &portable{backend: b, options: o, listener: -1}
	if err := p.open(); err != nil {
		return Report{}, fmt.Errorf("run probes: %w", err)
	}
	defer p.close()
	report := Report{
		Backend: b.Name(), Tier: found.Tier, Version: found.Version, User: "user", Mode: "library", Kernel: runtime.GOOS,
		Enforced: found.Enforced, Gaps: found.Gaps, Rooms: []string{filepath.Base(p.base)}, Counts: map[Status]int{},
	}
	if os.Geteuid() == 0 {
		report.User = "root"
	}
	for _, row := range Rows() {
		if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, func(w string) bool { return means(w, row.ID) }) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return report, err
		}
		out := p.try(ctx, row)
		report.Outcomes = append(report.Outcomes, out)
		report.Counts[out.Status]++
		if o.Progress != nil {
			o.Progress(out)
		}
	}
	return report, nil
}

func (p *portable) open() error {
	var random [12]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	p.secret = "sbx-canary-" + hex.EncodeToString(random[:])
	dir := p.options.Dir
	if dir == "" { // a temp directory may be the sandbox's own inside
		dir, _ = os.UserCacheDir()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(dir, "sbx-probe-")
	if err != nil {
		return err
	}
	if p.base, err = filepath.EvalSymlinks(made); err != nil {
		return err
	}
	return p.listen()
}

// listen counts connections to a port of this machine's loopback. Package net
// would cost every start of sbx.
func (p *portable) listen() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	unix.CloseOnExec(fd)
	p.listener = fd
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 16); err != nil {
		return err
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}
	p.port = strconv.Itoa(at.(*unix.SockaddrInet4).Port)
	go func() {
		for {
			c, _, err := unix.Accept(fd)
			if err != nil && err != unix.EINTR && err != unix.ECONNABORTED {
				return
			}
			if err == nil {
				p.reached.Add(1)
				_ = unix.Close(c)
			}
		}
	}()
	return nil
}

func (p *portable) close() {
	if p.listener >= 0 {
		_ = unix.Shutdown(p.listener, unix.SHUT_RDWR) // wakes who accepts
		_ = unix.Close(p.listener)
	}
	_ = os.RemoveAll(p.base)
}

// fill makes the room anew.
func (p *portable) fill() error {
	for _, dir := range []string{"ws", "out", "extra", "hide", "home", "bin", "private"} {
		if err := os.RemoveAll(filepath.Join(p.base, dir)); err != nil {
			return err
		}
	}
	private := []file{{"private/", "", 0o755}, {"private/tmp/", "", 0o755}, {"private/cache/", "", 0o755}}
	for _, f := range slices.Concat(outsideFiles(), workspaceFiles(), private) {
		at := filepath.Join(p.base, f.path)
		var err error
		if strings.HasSuffix(f.path, "/") {
			err = os.MkdirAll(at, f.mode)
		} else {
			err = os.WriteFile(at, []byte(strings.ReplaceAll(f.text, "SECRET", p.secret)), f.mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// vars are the places of this room. A row that names another one cannot be tried.
func (p *portable) vars() map[string]string {
	return map[string]string{
		"W": p.base + "/ws", "O": p.base + "/out", "H": p.base + "/home", "B": p.base, "TCP": p.port, "TMPDIR": p.base + "/private/tmp",
	}
}

// script is a row in the words of sh, or why there is none.
func (p *portable) script(row Row) (text string, args []string, why string) {
	switch {
	case row.Shell != "":
		return row.Shell, nil, p.lacking(row.Shell)
	case len(row.Act) == 0:
		return "", nil, "it is a procedure of the runner for Linux"
	}
	text, ok := shellActs()[row.Act[0]]
	if !ok {
		return "", nil, "its act is made of system calls of Linux"
	}
	for _, word := range row.Act[1:] {
		if why := p.lacking(word); why != "" {
			return "", nil, why
		}
		args = append(args, os.Expand(word, func(name string) string { return p.vars()[name] }))
	}
	return text, args, ""
}

// lacking names what a text needs and this room has not.
func (p *portable) lacking(text string) string {
	why := ""
	os.Expand(text, func(name string) string {
		known := p.vars()
		for _, other := range []string{"T", "VT", "SHM", "RUN", "TCP6", "UDP", "UDP6", "SOCK", "ABSTRACT", "VICTIM", "ADDRESS", "PTS", "MARK", "PROBE", "MODE", "SIZE"} {
			if name == other && known[name] == "" {
				why = "the runner of this system has no $" + name
			}
		}
		return ""
	})
	if strings.Contains(text, "/proc/") {
		why = "there is no /proc on every system"
	}
	return why
}

func (p *portable) try(ctx context.Context, row Row) Outcome {
	out := outcome(row)
	text, args, why := p.script(row)
	switch {
	case row.Beyond != "":
		out.Status, out.Why = NotApplicable, row.Beyond
		return out
	case row.Needs.Root && os.Geteuid() != 0 || row.Setup.Nobody:
		why = "without a sandbox only root can do it"
	case row.Setup.Rules != "" || row.Setup.Limits != (sandbox.Limits{}):
		why = "the runner of this system tries no rules and no limits"
	case row.ControlAct != nil || row.NoControl != "":
		why = "its control is one of the runner for Linux"
	}
	if why != "" {
		out.Status, out.Why = NotTried, why
		return out
	}
	control, _ := p.observe(ctx, row, false, text, args)
	inside, gaps := observation{}, []sandbox.Gap(nil)
	if control.ran && control.open {
		inside, gaps = p.observe(ctx, row, true, text, args)
	}
	return decide(row, control, inside, gaps)
}

// observe does the act once.
func (p *portable) observe(ctx context.Context, row Row, inside bool, text string, args []string) (observation, []sandbox.Gap) {
	if err := p.fill(); err != nil {
		return observation{trouble: err.Error()}, nil
	}
	before, calls := p.outside(), p.reached.Load()
	var out bytes.Buffer
	c := sandbox.Command{
		Argv: append([]string{"sh", "-c", "echo reached\n" + text, "sh"}, args...), Dir: p.base + "/ws",
		Stdin: strings.NewReader(row.Setup.Stdin), Stdout: &out, Stderr: &out, Timeout: 30 * time.Second, Grace: 100 * time.Millisecond,
	}
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.base + "/home", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	for name, value := range p.vars() {
		c.Env = append(c.Env, name+"="+value)
	}
	code, gaps, err := p.run(ctx, c, inside, row.Setup)
	o := observation{ran: strings.Contains(out.String(), "reached"), detail: strings.TrimSpace(strings.Replace(out.String(), "reached", "", 1))}
	o.detail = strings.ReplaceAll(o.detail[:min(len(o.detail), 120)], p.base, "$B")
	switch {
	case err != nil:
		return observation{detail: err.Error()}, gaps
	case row.Want == Works:
		o.open = code == 0
	case row.Canary == Secret:
		o.open = strings.Contains(out.String(), p.secret)
	case row.Canary == Host:
		changed := func() bool { return p.outside() != before || p.reached.Load() > calls }
		for range 20 { // what was sent may be on its way
			if o.open = changed(); o.open || code != 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	default:
		o.open = code == 0
	}
	if o.open && o.detail != "" {
		o.detail = "succeeded"
	}
	return o, gaps
}

func (p *portable) run(ctx context.Context, c sandbox.Command, inside bool, s Setup) (code int, gaps []sandbox.Gap, err error) {
	if !inside {
		code, err := runPlain(ctx, c)
		return code, nil, err
	}
	profile := sandbox.Profile{
		Workspace: p.base + "/ws", Write: []string{p.base + "/extra"}, Hide: []string{p.base + "/hide"}, Home: p.base + "/home",
		Private:   sandbox.Private{Temp: p.base + "/private/tmp", Cache: p.base + "/private/cache"},
		UnixAllow: s.Unix, Container: p.options.Container, Accept: sandbox.Controls(),
	}
	for _, f := range trustedFiles() {
		if !strings.HasSuffix(f.path, "/") {
			profile.Protect = append(profile.Protect, filepath.Join(p.base, f.path))
		}
	}
	profile.Protect = append(profile.Protect, p.base+"/ws/.git/hooks")
	if s.Online {
		profile.Network = sandbox.NetworkHost
	}
	session, err := p.backend.Open(ctx, profile)
	if err != nil {
		return 0, nil, err
	}
	defer session.Close()
	plan, err := session.Plan(c)
	if err != nil {
		return 0, nil, err
	}
	r, err := session.Run(ctx, c)
	return r.ExitCode, plan.Gaps, err
}

// outside describes all that must not change: in the workspace what others trust.
func (p *portable) outside() string {
	var b strings.Builder
	look := func(at string) {
		_ = filepath.WalkDir(filepath.Join(p.base, at), func(path string, _ fs.DirEntry, err error) error {
			info, lerr := os.Lstat(path)
			if err != nil || lerr != nil {
				return nil // gone: it is not in the list
			}
			b.WriteString(path + info.Mode().String() + "\n")
			if info.Mode().IsRegular() { // a pipe would wait for somebody
				data, _ := os.ReadFile(path)
				b.WriteString(info.ModTime().String() + string(data) + "\n")
			}
			return nil
		})
	}
	for _, dir := range []string{"out", "home", "hide"} {
		look(dir)
	}
	for _, f := range trustedFiles() {
		look(f.path)
	}
	return b.String()
}
