package sbx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sbx-run/sbx/changes"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/protect"
)

// Changes is what a previewed run would change: see package changes. Whoever
// gets one ends it with Apply, Discard or Keep, and then Close.
type Changes = changes.Changes

// Preview asks for a run whose writes to the workspace go into a layer. The
// workspace stays as it is, and Result.Changes says what would be different.
type Preview struct {
	// Home puts the caller's home directory under a layer, too: the command can
	// write there. What holds credentials stays hidden.
	Home bool
	// Bytes is how much the layers may take; 0: DefaultPreviewBytes. In memory
	// that is a hard limit. On disk it is watched, and ends the command.
	Bytes int64
	// OnDisk keeps the layers on disk, so that Changes.Keep costs nothing and
	// they may be larger than memory.
	OnDisk bool
}

const (
	// DefaultPreviewBytes is enough for the build of most projects.
	DefaultPreviewBytes = 1 << 30
	// PreviewKept is how long a preview is kept for later.
	PreviewKept = 7 * 24 * time.Hour

	// What is copied where no overlay can be mounted. A copy takes as long as the
	// files are many, so this is for small workspaces.
	maxCopyFiles = 20_000
	maxCopyBytes = 256 << 20
)

// previewing is the part of a job that a preview has.
type previewing struct {
	Preview
	homes  []string                  // the home directory, if it is a root
	own    []string                  // sbx's own state in there
	copies map[int]*changes.Snapshot // by root, where they are copies
	full   bool                      // the layers on disk grew too large
}

// PreviewError refuses a preview. Nothing ran.
type PreviewError struct{ Why, Instead string }

func (e *PreviewError) Error() string { return "preview: " + e.Why }

// Unwrap makes errors.Is(err, sandbox.ErrUnavailable) true.
func (e *PreviewError) Unwrap() error { return sandbox.ErrUnavailable }

// previewed adds to a profile what a preview needs.
func (j *job) previewed(p *sandbox.Profile, want *Preview, home string) error {
	if want == nil {
		return nil
	}
	if b, ok := j.engine.backend.(sandbox.Previewer); !ok || !b.CanPreview() {
		return &PreviewError{"backend " + j.engine.backend.Name() + " writes to the real files", "--backend direct"}
	}
	if p.ReadOnly {
		return &PreviewError{"the workspace is read-only, so nothing would change", "leave one of --preview and --read-only out"}
	}
	j.preview = previewing{Preview: *want, copies: map[int]*changes.Snapshot{}}
	if j.preview.Bytes <= 0 {
		j.preview.Bytes = DefaultPreviewBytes
	}
	roots := []string{p.Workspace}
	if want.Home {
		home, err := j.homeRoot(p, home)
		if err != nil {
			return err
		}
		roots = slices.DeleteFunc(roots, func(r string) bool { return within(r, home) })
		roots = append(roots, home)
	}
	for _, w := range p.Write {
		for _, r := range roots {
			if w != r && within(r, w) {
				return &PreviewError{fmt.Sprintf("%q may be written directly, and it holds %q", w, r), "leave the path out of --allow-write"}
			}
		}
	}
	p.Preview = &sandbox.Preview{Roots: roots, Bytes: j.preview.Bytes}
	if group, foreign := foreignGroup(p.Workspace, p.Identity); foreign {
		j.result.Hints = append(j.result.Hints, fmt.Sprintf(
			"the workspace is of group %d, which a previewed command is not in as the kernel sees it: files of that group cannot be changed (%q)",
			group, "Value too large for defined data type"))
	}
	return nil
}

// foreignGroup is the group of a directory, and whether it is unknown in the
// user namespace of a command: a file of it cannot be copied into a layer.
func foreignGroup(dir string, who *sandbox.Identity) (uint32, bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	group := identify(info).gid
	if who != nil {
		return group, group != who.GID && !slices.Contains(who.Groups, group)
	}
	return group, int64(group) != int64(os.Getegid())
}

// homeRoot is the home directory as a root of a preview. sbx's own state there
// stays as it is.
func (j *job) homeRoot(p *sandbox.Profile, home string) (string, error) {
	if home == "" {
		return "", &PreviewError{"no home directory is known", "set HOME"}
	}
	home = realPath(home)
	info, err := os.Stat(home)
	if err != nil || !info.IsDir() || within(home, p.Workspace) {
		return "", &PreviewError{fmt.Sprintf("%q is no home directory beside the workspace", home), "set HOME"}
	}
	for _, own := range j.engine.surroundingsOf(p.Identity).protected {
		if _, err := os.Lstat(own); err == nil && within(own, home) && own != home {
			j.preview.own = append(j.preview.own, own)
		}
	}
	j.preview.homes = []string{home}
	return home, nil
}

// store is where previews of the workspace are kept; empty when there is no
// place that outlives the run.
func (p *private) store() string {
	if p == nil || p.fresh {
		return ""
	}
	return filepath.Join(p.dir, "previews")
}

// makeStore makes it. Who the layers belong to must be able to pass through.
func (p *private) makeStore() (string, error) {
	store := p.store()
	if store == "" {
		return "", nil
	}
	return store, ownDir(store, callerUID(), 0o711)
}

// run runs the command, and reads what it has written.
func (j *job) run(ctx context.Context) (sandbox.Result, error) {
	profile := j.profile
	if profile.Preview == nil {
		return j.session.Run(ctx, j.command)
	}
	refused := sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}
	store, err := j.private.makeStore()
	if err != nil {
		return refused, fmt.Errorf("preview: %w: %w", err, sandbox.ErrStart)
	}
	if store != "" {
		_ = changes.Expire(store, time.Now().Add(-j.engine.kept())) // old ones are in nobody's way
	}
	o := changes.Options{Began: time.Now(), Protect: profile.Protect, Except: j.watch.Open(), Owner: ownerOf(profile.Identity), Store: store}
	if j.preview.OnDisk {
		if o.Dir, err = j.layers(store, profile, o.Owner); err != nil {
			return refused, err
		}
	}
	list := make([]changes.Layer, len(profile.Preview.Roots))
	for i, root := range profile.Preview.Roots {
		info, err := os.Stat(root)
		if err != nil {
			return refused, fmt.Errorf("preview: %w: %w", err, sandbox.ErrStart)
		}
		id := identify(info)
		list[i] = changes.Layer{Root: root, Dev: id.dev, Ino: id.ino}
	}
	result, err := j.runWatched(ctx, j.session)
	if errors.Is(err, sandbox.ErrNoOverlay) {
		result, err = j.runCopied(ctx, profile, &o, err)
	}
	if len(result.Layers) == 0 {
		if o.Dir != "" {
			_ = os.RemoveAll(o.Dir)
		}
		return result, err
	}
	for i, dir := range result.Layers {
		list[i].Dir, list[i].Copy = dir, j.preview.copies[i]
	}
	result.Layers = nil
	got, rerr := changes.Read(list, o)
	if rerr != nil {
		_ = got.Close()
		return result, errors.Join(err, fmt.Errorf("%w: %w", rerr, sandbox.ErrLost))
	}
	got.Full = j.preview.full || got.Full
	j.result.Changes = got
	return result, err
}

// layers makes the directories on disk that take what is written.
func (j *job) layers(store string, p sandbox.Profile, owner *changes.Owner) (string, error) {
	if store == "" {
		return "", &PreviewError{"there is no private directory in which it could be kept", "set XDG_CACHE_HOME to a directory outside the workspace"}
	}
	for _, root := range p.Preview.Roots {
		if within(store, root) {
			return "", &PreviewError{fmt.Sprintf("what is kept lies in %q, which is previewed", root), "set XDG_CACHE_HOME to a directory elsewhere, or leave the home directory out"}
		}
	}
	dir, err := changes.NewDir(store)
	if err != nil {
		return "", fmt.Errorf("preview: %w: %w", err, sandbox.ErrStart)
	}
	if err = os.Chmod(dir, 0o711); err == nil {
		j.command.Layers = nil
		for i := range p.Preview.Roots {
			layer := filepath.Join(dir, fmt.Sprint(i))
			if err = changes.MakeLayer(layer, owner); err != nil {
				break
			}
			j.command.Layers = append(j.command.Layers, layer)
		}
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("preview: %w: %w", err, sandbox.ErrStart)
	}
	return dir, nil
}

// runCopied shows copies of the roots instead of overlays, if they are small.
func (j *job) runCopied(ctx context.Context, p sandbox.Profile, o *changes.Options, cause error) (sandbox.Result, error) {
	refused := sandbox.Result{Ending: sandbox.NotStarted, ExitCode: 125}
	why := func(err error) error {
		return fmt.Errorf("%w: %w", &PreviewError{fmt.Sprintf("no overlay here (%v), and a copy will not do: %v", cause, err), "run it without a preview, or in a smaller workspace"}, sandbox.ErrStart)
	}
	if o.Dir != "" {
		_ = os.RemoveAll(o.Dir)
		o.Dir = ""
	}
	dir, err := j.layers(o.Store, p, o.Owner)
	if err != nil {
		return refused, why(err)
	}
	o.Dir = dir
	for i, root := range p.Preview.Roots {
		snap, err := changes.Copy(root, j.command.Layers[i], o.Owner, maxCopyFiles, min(maxCopyBytes, j.preview.Bytes))
		if err != nil {
			return refused, why(err)
		}
		j.preview.copies[i] = snap
	}
	copied := p
	copied.Preview = &sandbox.Preview{Roots: p.Preview.Roots, Copy: true}
	session, err := j.engine.sessions.get(ctx, j.engine.backend, copied)
	if err != nil {
		return refused, err
	}
	defer j.engine.sessions.put(session)
	return j.runWatched(ctx, session)
}

// runWatched runs the command, and ends it when layers on disk grow too large.
func (j *job) runWatched(ctx context.Context, session sandbox.Session) (sandbox.Result, error) {
	if len(j.command.Layers) == 0 {
		return session.Run(ctx, j.command)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if changes.Watch(ctx, j.command.Layers, j.preview.Bytes) {
			close(over)
			cancel()
		}
	}()
	result, err := session.Run(ctx, j.command)
	cancel()
	<-done
	select {
	case <-over:
		j.preview.full = true
		if result.Ending == sandbox.Abandoned {
			result.Ending = sandbox.OverDisk
		}
	default:
	}
	return result, err
}

func ownerOf(i *sandbox.Identity) *changes.Owner {
	if i == nil {
		return nil
	}
	return &changes.Owner{UID: i.UID, GID: i.GID, Groups: i.Groups}
}

// kept is how long previews are kept.
func (e *Engine) kept() time.Duration {
	if e.options.PreviewKept > 0 {
		return e.options.PreviewKept
	}
	return PreviewKept
}

// stores lists the directories in which previews of this user may be kept.
func (e *Engine) stores() []string {
	var list []string
	for _, base := range e.survey().bases {
		dirs, err := os.ReadDir(base.path)
		if err != nil || !ownedDir(base.path) {
			continue
		}
		for _, d := range dirs {
			p := private{dir: filepath.Join(base.path, d.Name())}
			if ownedDir(p.dir) && ownedDir(p.store()) {
				list = append(list, p.store())
			}
		}
	}
	return list
}

// ownedDir says that nobody but the caller can change what is in a directory.
func ownedDir(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && identify(info).uid == callerUID() && info.Mode().Perm()&0o022 == 0
}

// Previews lists what is kept for later, of all workspaces, oldest first in
// each. What was kept too long is removed before.
func (e *Engine) Previews() ([]changes.Stored, error) {
	var all []changes.Stored
	for _, store := range e.stores() {
		if err := changes.Expire(store, time.Now().Add(-e.kept())); err != nil {
			return all, fmt.Errorf("list previews: %w", err)
		}
		list, err := changes.List(store)
		if err != nil {
			return all, fmt.Errorf("list previews: %w", err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// OpenPreview finds a preview by its ID.
func (e *Engine) OpenPreview(id string) (*Changes, error) {
	for _, store := range e.stores() {
		c, err := changes.Load(store, id)
		if !errors.Is(err, changes.ErrNoPreview) {
			return c, err
		}
	}
	return nil, fmt.Errorf("%w %q", changes.ErrNoPreview, id)
}

// Apply makes previewed changes real, or changes nothing: see changes.Changes.
// What is protected by now is left alone, and what appeared for programs outside
// is reported, as after a run that was not previewed.
func (e *Engine) Apply(c *Changes) (*sandbox.Trust, error) {
	if len(c.Roots) == 0 {
		return nil, changes.ErrGone
	}
	o := &e.options
	watch, err := protect.Find(sandbox.Profile{Workspace: c.Roots[0], Write: c.Roots[1:]},
		protect.Options{Protect: o.Protect, Unprotect: o.Unprotect, Strict: o.ProtectStrict})
	if err != nil {
		return nil, err
	}
	if c.State != changes.Unfinish { // what was half done is not judged anew
		c.Protect(watch.Paths(), watch.Open())
	}
	if err := c.Apply(); err != nil {
		return nil, err
	}
	return watch.Report(protect.Limit), nil
}
