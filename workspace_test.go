package sbx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJudgeWorkspace(t *testing.T) {
	ground := grounds{
		homes:     []string{"/home/dev", "/root"},
		temps:     []string{"/tmp", "/var/tmp", "/scratch/tmp"},
		protected: []string{"/home/dev/.pepe", "/opt/pepe", "/home/dev/.cache/sbx"},
	}
	for dir, want := range map[string]string{ // want: a piece of the reason
		"/":                           "the root",
		"/home":                       "home directory",
		"/home/dev":                   "it is the home directory",
		"/home/other":                 "home directory",
		"/root":                       "home directory",
		"/tmp":                        "temp directory",
		"/var/tmp":                    "temp directory",
		"/dev/shm":                    "temp directory",
		"/scratch/tmp":                "temp directory",
		"/etc":                        "system",
		"/etc/nginx":                  "in /etc",
		"/usr":                        "system",
		"/usr/local":                  "system",
		"/usr/local/bin":              "system",
		"/usr/local/lib/x":            "system",
		"/var":                        "system",
		"/var/log":                    "system",
		"/var/spool/cron":             "system",
		"/bin":                        "system",
		"/boot/efi":                   "system",
		"/dev":                        "system",
		"/proc/self":                  "system",
		"/sys/fs/cgroup":              "system",
		"/run/user/1000":              "system",
		"/lib/x86_64-linux-gnu":       "system",
		"/opt":                        "system",
		"/srv":                        "system",
		"/mnt":                        "mount",
		"/home/dev/.ssh":              "credentials",
		"/home/dev/.ssh/sockets":      "in /home/dev/.ssh",
		"/home/dev/.config":           "configuration",
		"/home/dev/.config/autostart": "configuration",
		"/home/dev/.cache":            "cache",
		"/home/dev/.local":            "data",
		"/home/dev/.local/bin":        "search path",
		"/home/dev/.pepe":             "configuration",
		"/home/dev/.pepe/sandbox":     "configuration",
		"/opt/pepe":                   "sbx itself",
		"/root/.gnupg":                "credentials",
	} {
		got := ground.judge(dir)
		if got == "" {
			t.Errorf("%s: accepted, want a refusal", dir)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q does not say %q", dir, got, want)
		}
	}
	for _, dir := range []string{
		"/tmp/x", "/var/tmp/x", "/dev/shm/x", "/scratch/tmp/x", "/scratch",
		"/opt/x", "/srv/x", "/mnt/x", "/media/x", "/home/dev/x", "/home/other/x", "/root/x", "/home/dev/.cache/x",
		"/usr/src/app", "/usr/local/src/x", "/var/www/x", "/var/lib/jenkins/x", "/workspace", "/builds/a/b", "/home/dev/.local/share/x",
		"/etcetera", "/tmpfs", "/home/dev/.sshx",
	} {
		if why := ground.judge(dir); why != "" {
			t.Errorf("%s: refused: %s", dir, why)
		}
	}
}

// Whatever is refused, its ancestors are: a table that forgets one would make
// the place writable from above.
func TestJudgeRefusesAncestors(t *testing.T) {
	ground := grounds{homes: []string{"/data/people/ann"}, protected: []string{"/var/lib/app/pepe"}}
	for _, dir := range []string{"/data/people/ann", "/data/people", "/data", "/var/lib/app/pepe", "/var/lib/app", "/var/lib", "/var", "/"} {
		if ground.judge(dir) == "" {
			t.Errorf("%s: accepted", dir)
		}
	}
}

func TestResolveWorkspace(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "ws")
	file := filepath.Join(base, "file")
	link, broken, toFile, loop := filepath.Join(base, "link"), filepath.Join(base, "broken"), filepath.Join(base, "tofile"), filepath.Join(base, "loop")
	must(t, os.Mkdir(dir, 0o755), os.WriteFile(file, nil, 0o644),
		os.Symlink(dir, link), os.Symlink(filepath.Join(base, "gone"), broken), os.Symlink(file, toFile), os.Symlink(loop, loop))

	for _, tc := range []struct{ name, given, want, why string }{
		{"directory", dir, dir, ""},
		{"unclean", dir + "/../ws/.", dir, ""},
		{"link", link, dir, ""},
		{"unset", "", "", "no workspace"},
		{"relative", "ws", "", "absolute"},
		{"dot", ".", "", "absolute"},
		{"missing", filepath.Join(base, "gone"), "", "does not exist"},
		{"file", file, "", "not a directory"},
		{"link to file", toFile, "", "not a directory"},
		{"below file", filepath.Join(file, "x"), "", "not a directory"},
		{"broken link", broken, "", "symbolic link to nothing"},
		{"loop", loop, "", "too many links"},
	} {
		got, _, err := resolveWorkspace(tc.given)
		var refused *WorkspaceError
		switch {
		case tc.why == "" && (err != nil || got != tc.want):
			t.Errorf("%s: %q, %v; want %q", tc.name, got, err, tc.want)
		case tc.why != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tc.why)):
			t.Errorf("%s: %v; want a WorkspaceError that says %q", tc.name, err, tc.why)
		}
	}
}

// A path may hold any byte; what is written about it stays on one line.
func TestWorkspaceNames(t *testing.T) {
	e := testEngine(t, Options{})
	base := t.TempDir()
	for _, name := range []string{"a b", `a'b"c`, "a)(allow default)", "new\nline", "$(touch x)", "-rf", ":ro", "a,b", "ünï\xff", "*?[", `back\slash`} {
		dir := filepath.Join(base, name)
		must(t, os.Mkdir(dir, 0o755))
		got, _, err := e.workspace(dir)
		if err != nil || got != realPath(dir) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if _, _, err := e.workspace(dir + "/gone"); err == nil || strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%q: %v is not a one-line error", name, err)
		}
	}
}

// The refusal is about the directory, not about its spelling.
func TestWorkspaceSpellings(t *testing.T) {
	base := realPath(t.TempDir())
	home := filepath.Join(base, "people", "ann")
	must(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700), os.MkdirAll(filepath.Join(home, "x"), 0o755),
		os.Symlink(home, filepath.Join(base, "alias")), os.Symlink("/", filepath.Join(home, "x", "root")))
	e := testEngine(t, Options{Environ: []string{"HOME=" + filepath.Join(base, "alias"), "USER=ann"}})
	for _, dir := range []string{
		home, home + "/", home + "/x/..", filepath.Join(base, "alias"), filepath.Join(base, "people"), base,
		home + "/.ssh", base + "/alias/.ssh", home + "/x/root", home + "/x/root/etc", "/etc/..", "/proc/self/root",
	} {
		if got, _, err := e.workspace(dir); err == nil {
			t.Errorf("%s: accepted as %s", dir, got)
		}
	}
	if _, _, err := e.workspace(home + "/x"); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
