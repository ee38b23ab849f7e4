package container

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/distribution/reference"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/pid1"
)

// The labels of our containers. The reaper knows them by these.
const (
	LabelOwner     = "run.sbx.owner" // see owner
	LabelUser      = "run.sbx.uid"
	LabelWorkspace = "run.sbx.workspace" // a hash: the name is nobody's business
	LabelKind      = "run.sbx.kind"      // a Kind
)

// Kind is what a container is for.
type Kind string

// The kinds: a container of one command, and one that takes many.
const (
	Run     Kind = "run"
	Session Kind = "session"
)

// Spec is what a container is made from, whatever the engine.
type Spec struct {
	Profile sandbox.Profile
	Layout  Layout
	User    User
	Init    string // the program of cmd/sbx-init
	Kind    Kind
	Socket  string // directory of the listener for the first process
}

// Engine makes the containers of one session. It is safe for concurrent use.
// What it returns as an error is in the engine's words: the session says which
// engine it was and that nothing ran.
type Engine interface {
	// Describe checks a spec, without asking the engine, and says in a line what
	// would be made.
	Describe(Spec) (string, error)
	// Gaps are limits that no container of this engine is held to.
	Gaps() []sandbox.Gap
	// Create makes a container and fetches its image if need be. The gaps are
	// limits that the engine turns out not to hold. An error of its own kind
	// (ErrStart, ErrUnavailable) is passed on as it is.
	Create(context.Context, Spec) (id string, gaps []sandbox.Gap, err error)
	// Start returns when the first process was started.
	Start(ctx context.Context, id string) error
	// Wait waits until a started container has ended, and says how.
	Wait(ctx context.Context, id string) string
	// Ended is told when a container has nothing left to do; its first process
	// ends by itself.
	Ended(id string)
	// Remove ends a container and forgets it, whatever it does.
	Remove(ctx context.Context, id string) error
	// Abandoned lists the containers of this user that nobody can use any more.
	Abandoned(context.Context) ([]string, error)
	// Architecture of an image that is here, as Go names it; "" if unknown.
	Architecture(ctx context.Context, image string) string
	Close()
}

// Image of a profile.
func Image(p sandbox.Profile) string { return cmp.Or(p.Container.Image, sandbox.DefaultImage) }

// CPUs of a profile.
func CPUs(p sandbox.Profile) float64 {
	return cmp.Or(p.Container.CPUs, sandbox.DefaultContainerCPUs)
}

// ownTasks are the threads of the first process, which the limit of processes
// counts too.
const ownTasks = 16

// PIDs is how many processes and threads a container may have.
func PIDs(p sandbox.Profile) int64 {
	if n := p.Limits.Processes; n > 0 {
		return int64(n) + ownTasks
	}
	return sandbox.DefaultContainerPIDs
}

// Labels of a container that this process makes.
func (s Spec) Labels() map[string]string {
	return map[string]string{
		LabelOwner: owner(), LabelUser: strconv.Itoa(os.Geteuid()), LabelWorkspace: hash(s.Profile.Workspace), LabelKind: string(s.Kind),
	}
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// Args are the first process and its mode.
func (s Spec) Args() []string {
	if s.Kind == Session {
		return []string{pid1.Program, pid1.ModeServe}
	}
	return []string{pid1.Program, pid1.ModeOnce}
}

// Mounts are the paths of the host that a container sees: those of the layout,
// then the socket and the first process.
func (s Spec) Mounts() []Bind {
	return append(
		slices.Clone(s.Layout.Binds),
		Bind{Path: pid1.SocketDir, From: s.Socket, ReadOnly: true},
		Bind{Path: pid1.Program, From: s.Init, ReadOnly: true},
	)
}

// HostsFile is the /etc/hosts of a container that gets none of its engine, beside
// the socket. Empty: it has the host's, which was shared.
func (s Spec) HostsFile() string {
	if s.Shares("/etc/hosts") {
		return ""
	}
	return filepath.Join(s.Socket, "hosts")
}

// Shares says whether the container sees the host's file at a path.
func (s Spec) Shares(path string) bool { return covers(s.Layout.Binds, path) }

// WriteHosts makes that file, with further lines: an image need have none, and
// programs want localhost.
func (s Spec) WriteHosts(more ...string) (string, error) {
	file := s.HostsFile()
	if file == "" {
		return "", nil
	}
	lines := append([]string{"127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"}, more...)
	return file, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o444)
}

// Tmpfs are the options of the file systems in memory, by directory. The home
// directory is that of who, unless the engine knows no owner of such a file
// system (homeOwned).
func (s Spec) Tmpfs(who User, homeOwned bool) map[string]string {
	l, made := s.Layout, map[string]string{}
	size := ""
	if l.Size > 0 {
		size = fmt.Sprintf(",size=%d", l.Size)
	}
	for _, dir := range l.Memory {
		made[dir] = "rw,nosuid,nodev,exec,mode=1777" + size
	}
	for _, dir := range l.Covered {
		made[dir] = "ro,nosuid,nodev,noexec,mode=0,size=4k"
	}
	switch {
	case l.Home == "":
	case homeOwned:
		made[l.Home] = fmt.Sprintf("rw,nosuid,nodev,exec,mode=0700,uid=%d,gid=%d", who.UID, who.GID)
	default:
		made[l.Home] = "rw,nosuid,nodev,exec,mode=1777"
	}
	return made
}

// Offline says whether the container gets no network of the engine's.
func Offline(p sandbox.Profile) bool {
	return p.Network == sandbox.NetworkNone || p.Network == sandbox.NetworkRules && holdsRules
}

// User is who a command runs as.
type User struct {
	UID, GID int
	Groups   []int
}

func userOf(p sandbox.Profile) User {
	if i := p.Identity; i != nil {
		u := User{UID: int(i.UID), GID: int(i.GID)}
		for _, g := range i.Groups {
			u.Groups = append(u.Groups, int(g))
		}
		return u
	}
	u := User{UID: os.Geteuid(), GID: os.Getegid()}
	if u.UID != 0 {
		u.Groups, _ = os.Getgroups()
	}
	return u
}

// minMemory is the least that Docker accepts. Others accept less, and then no
// process starts.
const minMemory = 6 << 20

// checkProfile refuses what no container can be made for.
func checkProfile(engine string, p sandbox.Profile) error {
	if p.Tier+p.MinTier != "" {
		return fmt.Errorf("tier %q: the backend %s has no tiers: %w", p.MinTier+p.Tier, engine, sandbox.ErrUnavailable)
	}
	for _, path := range Paths(p) {
		if !utf8.ValidString(path) {
			return Unavailable(engine, "", fmt.Errorf("the name %q is not UTF-8, and the engine takes no other", path))
		}
	}
	if p.Container.CPUs < 0 || p.Container.CPUs > 1<<16 {
		return Unavailable(engine, "", errors.New("the number of processors must be positive"))
	}
	if n := p.Limits.MemoryBytes; n > 0 && n < minMemory {
		return Unavailable(engine, "", fmt.Errorf("a container needs at least %d MiB of memory, and is to have %d bytes", minMemory>>20, n))
	}
	if image := Image(p); !isImage(image) {
		return Unavailable(engine, "", fmt.Errorf("%q is not the name of an image", image))
	}
	return nil
}

// Paths are all that a profile names.
func Paths(p sandbox.Profile) []string {
	return slices.Concat([]string{p.Workspace, p.Private.Temp, p.Private.Cache, p.Home}, p.Write, p.Read, p.Hide, p.Protect)
}

func isImage(name string) bool {
	_, err := reference.ParseAnyReference(name)
	return err == nil
}
