package sbx

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/secretsenv"
)

// caller finds the home directory and login name of the user that sbx runs as.
func (e *Engine) caller() (home, user string) {
	home, user = e.environ.get("HOME"), e.environ.get("USER")
	if filepath.IsAbs(home) && user != "" {
		return filepath.Clean(home), user
	}
	a, known := hostAccounts.byUID(callerUID())
	if !filepath.IsAbs(home) {
		home = ""
		if known && filepath.IsAbs(a.Home) {
			home = filepath.Clean(a.Home)
		}
	}
	if user == "" && known {
		user = a.Name
	}
	return home, user
}

// tempDir is where the caller keeps temporary files.
func (e *Engine) tempDir() string {
	if dir := e.environ.get("TMPDIR"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return os.TempDir()
}

// survey is what the caller's environment says about this host. It is taken
// once for an engine: each path in it costs several system calls.
type survey struct {
	grounds
	bases []privateBase // where private directories may lie
}

// surveyFor looks around for commands that run as who.
func (e *Engine) surveyFor(who *sandbox.Identity) *survey {
	s := &survey{bases: e.privateBases(who)}
	s.temps = []string{realPath(e.tempDir()), realPath("/tmp"), realPath("/var/tmp")}
	s.homes = e.homes(who)
	s.protected = e.protected(s.bases)
	s.identify()
	return s
}

// surroundingsOf gives the survey for commands that run as who.
func (e *Engine) surroundingsOf(who *sandbox.Identity) *survey {
	if who != nil {
		return e.surveyFor(who)
	}
	return e.survey()
}

// protected are the directories and files of sbx's configuration and state, resolved.
// Nothing that a command can write may hold one of them or lie in one.
func (e *Engine) protected(bases []privateBase) []string {
	var dirs []string
	if dir := e.environ.get("PEPE_HOME"); filepath.IsAbs(dir) {
		dirs = append(dirs, realPath(dir))
	} else if e.home != "" {
		dirs = append(dirs, realPath(filepath.Join(e.home, ".pepe")))
	}
	if file := e.environ.get("PEPE_CONFIG"); filepath.IsAbs(file) {
		dirs = append(dirs, filepath.Clean(file), realPath(file)) // beside it are other things, a whole home perhaps
	}
	for _, base := range bases {
		dirs = append(dirs, base.path)
	}
	if audit := e.options.Audit; audit != "" { // by both names: no link on the way may lie in a workspace
		dirs = append(dirs, filepath.Clean(audit), realPath(audit))
	}
	return dirs
}

// homes are the home directories of the caller and of who, resolved.
func (e *Engine) homes(who *sandbox.Identity) []string {
	homes := []string{e.home}
	if a, ok := hostAccounts.byUID(callerUID()); ok {
		homes = append(homes, a.Home)
	}
	if who != nil {
		homes = append(homes, who.Home)
	}
	var resolved []string
	for _, home := range homes {
		if !filepath.IsAbs(home) || home == "/" || home == "/nonexistent" {
			continue
		}
		if home = realPath(home); !slices.Contains(resolved, home) {
			resolved = append(resolved, home)
		}
	}
	return resolved
}

// workspace resolves the directory that a request names, decides who the
// command runs as, and refuses what may not become writable.
func (e *Engine) workspace(given string) (string, *sandbox.Identity, error) {
	dir, info, err := resolveWorkspace(given)
	if err != nil {
		return "", nil, err
	}
	id := identify(info)
	who := identityFor(callerUID(), id.uid, id.gid, hostAccounts)
	if who != nil && !isMapped(who.UID) {
		who = nil
	}
	if err := e.surroundingsOf(who).check(given, dir, id); err != nil {
		return "", nil, err
	}
	return dir, who, nil
}

// clean is the caller's environment without what must not reach a command.
type clean struct {
	kept    []string
	removed []string // names
	asked   []string // names that the caller asked to keep
	goProxy string
}

func (e *Engine) clean(keep []string, home string, who *sandbox.Identity) clean {
	policy := e.options.Secrets
	policy.Allow = slices.Concat(policy.Allow, keep)
	c := clean{asked: policy.Allow}
	c.kept, c.removed = secretsenv.Strip(e.environ, policy)
	c.goProxy = goProxy(c.kept, home, who)
	return c
}

// cleaned is clean, done once for what most commands need.
func (e *Engine) cleaned(keep []string, home string, who *sandbox.Identity) clean {
	if len(keep) == 0 && who == nil {
		return e.usual()
	}
	return e.clean(keep, home, who)
}

// dirIn resolves the directory a command starts in.
func dirIn(workspace, dir string) (string, error) {
	if dir == "" {
		return workspace, nil
	}
	resolved, err := resolvePaths("cwd", []string{dir})
	if err != nil {
		return "", err
	}
	if !within(resolved[0], workspace) {
		return "", &PathError{Option: "cwd", Path: dir, Why: "it is not in the workspace " + workspace}
	}
	return resolved[0], nil
}

// profile says what must hold for the commands of a workspace; the private
// directories are added by the caller.
func (e *Engine) profile(workspace, home string, who *sandbox.Identity, net network) (sandbox.Profile, error) {
	o := &e.options
	p := sandbox.Profile{
		Workspace: workspace, Network: net.Network, Limits: o.Limits, Explain: o.Explain, UnixAllow: o.AllowUnix, ReadOnly: o.ReadOnly, Identity: who,
		Required: o.Required, Accept: o.AcceptGaps, Tier: o.Tier, MinTier: o.MinTier, Supervisor: o.Supervisor,
		Container: o.Container,
	}
	if home != "" {
		p.Home = realPath(home)
	}
	var err error
	if p.Write, err = resolvePaths("allow-write", o.Write); err != nil {
		return p, err
	}
	for i, dir := range p.Write {
		for _, own := range e.surroundingsOf(who).protected {
			if within(dir, own) || within(own, dir) {
				return p, &PathError{Option: "allow-write", Path: o.Write[i], Why: "sbx's own configuration or state is there (" + own + ")"}
			}
		}
	}
	if p.Read, err = resolvePaths("allow-read", o.Read); err != nil {
		return p, err
	}
	if p.Hide, err = resolvePaths("hide", o.Hide); err != nil {
		return p, err
	}
	e.egress(&p, net)
	e.hideConfiguration(&p)
	return p, e.hideAudit(&p)
}

// hideConfiguration keeps the runtime's directory and file from being read where
// they are not the usual ones, which are among the credentials. A path to read
// lifts it, as it does there; one below the directory leaves the file hidden.
func (e *Engine) hideConfiguration(p *sandbox.Profile) {
	var places []string
	if dir := e.environ.get("PEPE_HOME"); filepath.IsAbs(dir) {
		dir = realPath(dir)
		if e.home == "" || !within(realPath(e.home), dir) { // else it holds more than that
			places = append(places, dir)
		}
		places = append(places, realPath(filepath.Join(dir, "config.json")))
	}
	if file := e.environ.get("PEPE_CONFIG"); filepath.IsAbs(file) {
		places = append(places, realPath(file))
	}
	for _, place := range places {
		lifted := slices.ContainsFunc(p.Read, func(read string) bool { return within(place, read) || within(read, place) })
		if _, err := os.Lstat(place); err == nil && !lifted && !inAny(place, p.Hide) {
			p.Hide = append(p.Hide, place)
		}
	}
}

// hideAudit keeps the audit file from being read.
func (e *Engine) hideAudit(p *sandbox.Profile) error {
	if e.options.Audit == "" {
		return nil
	}
	file := realPath(e.options.Audit)
	for i, dir := range p.Read {
		if within(file, dir) {
			return &PathError{Option: "allow-read", Path: e.options.Read[i], Why: "the audit file is there (" + file + ")"}
		}
	}
	if _, err := os.Lstat(file); err == nil { // a plan is made without opening it
		p.Hide = append(p.Hide, file)
	}
	return nil
}

// hides reports whether a credential file in the home directory exists and is
// kept from being read: backend none keeps nothing from anybody.
func (e *Engine) hides(file string, read []string) bool {
	if e.backend.Name() == "none" {
		return false
	}
	_, err := os.Lstat(file)
	return err == nil && (len(read) == 0 || !inAny(realPath(file), read))
}

// runtimes are the interpreters whose script file an agent runtime puts into
// the temp directory.
var runtimes = [...]string{"bash", "bun", "deno", "elixir", "node", "perl", "php", "python", "python3", "ruby", "sh", "zsh"}

// runtimeScript finds the script file of a runtime: the argument after a known
// interpreter, when it is a regular file of uid in a temp directory, reached
// by no link and known by no second name. "" when there is none.
func runtimeScript(argv []string, uid uint32, temps []string) string {
	if len(argv) < 2 || !filepath.IsAbs(argv[1]) {
		return ""
	}
	known := false
	for _, r := range runtimes {
		known = known || filepath.Base(argv[0]) == r
	}
	if !known {
		return ""
	}
	file := realPath(filepath.Dir(argv[1]))
	if !inAny(file, temps) {
		return ""
	}
	file = filepath.Join(file, filepath.Base(argv[1]))
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if id := identify(info); id.uid != uid || id.links != 1 {
		return ""
	}
	return file
}
