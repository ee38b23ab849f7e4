// Package ssh runs commands on another machine, confined there. It is the user's
// own OpenSSH client that connects, so that its configuration, agent, jump hosts
// and hardware keys work, over one connection that is kept between commands. At
// the other end runs sbx (package far), which confines by what that machine has.
package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// Name is the word for --backend and the configuration.
const Name = "ssh"

// Mode says how the workspace comes to be there.
type Mode string

// The modes.
const (
	// Sync carries what has changed before and after each command.
	Sync Mode = "sync"
	// Shared: both machines see the same files at the same path.
	Shared Mode = "shared"
)

// DefaultKeep is how long a connection without a command is kept.
const DefaultKeep = 10 * time.Minute

// Options say where commands run. The zero value names no machine, and refuses.
type Options struct {
	Host      string        // as for ssh: a name of its configuration, or USER@HOST
	Options   string        // further options of ssh, as a shell would read them
	Workspace Mode          // empty: Sync
	Dir       string        // with Sync: the workspace there, relative to the home; empty: one of sbx's own
	Program   string        // absolute path of sbx there; empty: looked for, or copied
	Client    string        // absolute path of ssh here; empty: looked for in the system's directories
	Keep      time.Duration // how long the connection is kept; 0: DefaultKeep
	State     string        // absolute directory for sockets; empty: ~/.local/state/sbx/ssh
	Self      string        // absolute path of the sbx to copy; empty: this program

	byClient bool // for tests: each session by a client of its own
}

// Backend runs commands on another machine. It is safe for concurrent use.
type Backend struct{ options Options }

// New returns the backend. Nothing is looked at before it is used.
func New(o Options) *Backend { return &Backend{o} }

// Name returns "ssh".
func (*Backend) Name() string { return Name }

// OnlyNamed says that this backend is never chosen by itself: it is about another
// machine.
func (*Backend) OnlyNamed() bool { return true }

// check refuses options that cannot be used or that would widen.
func (o Options) check() error {
	switch {
	case o.Host == "":
		return errors.New("no machine is set: sbx.ssh.host in the configuration, PEPE_SANDBOX_SSH_HOST or --ssh-host names one")
	case strings.HasPrefix(o.Host, "-") || strings.ContainsFunc(o.Host, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return fmt.Errorf("host %q: want HOST or USER@HOST", o.Host)
	case o.Workspace != "" && o.Workspace != Sync && o.Workspace != Shared:
		return fmt.Errorf("workspace %q: want sync or shared", o.Workspace)
	case o.Dir != "" && (!filepath.IsLocal(o.Dir) || o.Dir == "."):
		return fmt.Errorf("dir %q: want a path below the home directory of the other machine, like work/app", o.Dir)
	case o.Dir != "" && o.Workspace == Shared:
		return fmt.Errorf("dir %q: with a shared workspace the path is the same on both machines", o.Dir)
	}
	for name, path := range map[string]string{"program": o.Program, "client": o.Client, "state": o.State, "self": o.Self} {
		if path != "" && (!filepath.IsAbs(path) || strings.ContainsAny(path, "'\n\x00")) {
			return fmt.Errorf("%s %q: want an absolute path without quotes and line breaks", name, path)
		}
	}
	_, err := clientOptions(o.Options)
	return err
}

// Probe asks the other machine what it can enforce.
func (b *Backend) Probe(ctx context.Context) (sandbox.Capabilities, error) {
	s, err := b.open(sandbox.Profile{})
	if err != nil {
		return sandbox.Capabilities{}, err
	}
	answer, err := s.ask(ctx, wire.Order{Version: wire.Version, Verb: wire.Probe}, sandbox.Command{})
	if err == nil {
		err = answer.Err()
	}
	if err != nil {
		return sandbox.Capabilities{}, s.wrap(err)
	}
	if answer.Capabilities == nil {
		return sandbox.Capabilities{}, s.wrap(fmt.Errorf("the other machine has not answered: %w", sandbox.ErrUnavailable))
	}
	found := *answer.Capabilities
	found.Version = b.options.version(found.Backend, found.Version)
	// A shared workspace does not make it this machine: what else the suite looks
	// at here is elsewhere there.
	found.Backend, found.Apart = Name, b.options.Workspace != Shared
	return found, nil
}

// version says what a result stands on.
func (o Options) version(backend, version string) string {
	return strings.TrimSpace(fmt.Sprintf("%s on %s: %s", backend, o.Host, version))
}

// Open checks what can be checked without the other machine. It says whether the
// profile can be held when a command is planned or run: to ask before would cost
// each command a second round trip.
func (b *Backend) Open(_ context.Context, p sandbox.Profile) (sandbox.Session, error) {
	return b.open(p)
}

func (b *Backend) open(p sandbox.Profile) (*session, error) {
	refuse := func(err error) (*session, error) {
		return nil, fmt.Errorf("backend ssh: %w: %w", err, sandbox.ErrUnavailable)
	}
	o := b.options
	if err := o.check(); err != nil {
		return refuse(err)
	}
	if p.Preview != nil {
		return refuse(errors.New("it keeps no previews"))
	}
	if err := p.Portable(); err != nil {
		return refuse(err)
	}
	if o.Workspace != Shared {
		for _, path := range p.Write {
			if _, ok := inside(p.Workspace, path); !ok {
				return refuse(fmt.Errorf("%q is to be written and lies outside of the workspace, which alone is carried to %s and back", path, o.Host))
			}
		}
	}
	link, err := newLink(o, p)
	if err != nil {
		return refuse(err)
	}
	s := &session{options: o, profile: p, link: link}
	if p.Workspace != "" { // not for a probe
		if s.where, err = os.Lstat(p.Workspace); err == nil && !s.where.IsDir() {
			err = fmt.Errorf("workspace %q: it is no directory", p.Workspace)
		}
	}
	if err != nil {
		return refuse(err)
	}
	return s, nil
}

// inside says where in a directory a path lies.
func inside(dir, path string) (string, bool) {
	if dir == "" {
		return "", false
	}
	rest, err := filepath.Rel(dir, path)
	return rest, err == nil && filepath.IsLocal(rest)
}
