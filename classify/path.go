package classify

import (
	"path"
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// place is where a path lies.
type place uint8

const (
	nowhere place = iota // no file: a standard stream, a process substitution, nothing at all
	inside               // below the workspace, or relative to a directory that is not known
	outside
	socket // /dev/tcp/HOST/PORT
)

// locate finds where a word lies when it is taken as a path relative to dir.
// The path is clean; it stays relative when dir is the workspace or unknown.
func (c *classifier) locate(w *shell.Word, dir string) (string, place) {
	v := w.Value
	if w.Proc != 0 {
		return v, nowhere
	}
	if !w.Literal && !w.Guess {
		return c.locatePrefix(w, dir)
	}
	if v == "" || v == "-" {
		return v, nowhere
	}
	if v[0] == '~' && !w.Quoted && len(v) > 1 && v[1] != '/' && strings.IndexByte(v, '/') != 1 {
		if v[1] >= 'a' && v[1] <= 'z' { // another user's home
			return "/home/" + v[1:], outside
		}
	}
	if v[0] == '/' {
		p := clean(v)
		return p, c.absolute(p)
	}
	if dir == "" {
		return v, inside
	}
	if dir == c.workspace && !strings.Contains(v, "..") {
		return v, inside
	}
	p := path.Join(dir, v)
	return p, c.absolute(p)
}

// locatePrefix judges a path of which only pieces are known by its beginning.
func (c *classifier) locatePrefix(w *shell.Word, dir string) (string, place) {
	v := w.Value
	switch {
	case w.Prefix == "":
		return v, inside
	case w.Prefix[0] == '/':
		p := clean(w.Prefix)
		at := c.absolute(p)
		if at == outside && w.Prefix[len(w.Prefix)-1] != '/' && strings.HasPrefix(c.workspace, w.Prefix) {
			at = inside // /home/dev/ap$x may still become the workspace
		}
		return clean(v), at
	case strings.Contains(w.Prefix, "..") && dir != "":
		p := path.Join(dir, w.Prefix)
		return path.Join(dir, v), c.absolute(p)
	case dir != "" && dir != c.workspace:
		return path.Join(dir, v), c.absolute(dir)
	}
	return v, inside
}

func clean(p string) string {
	if len(p) > 1 && p[len(p)-1] == '/' || strings.Contains(p, "//") || strings.Contains(p, "/.") {
		return path.Clean(p)
	}
	return p
}

// absolute places a clean absolute path.
func (c *classifier) absolute(p string) place {
	if strings.HasPrefix(p, "/dev/") {
		return device(p)
	}
	if within(p, c.workspace) {
		return inside
	}
	if strings.HasPrefix(p, "/proc/self/fd/") {
		return nowhere
	}
	return outside
}

func within(p, dir string) bool {
	return dir != "" && strings.HasPrefix(p, dir) && (len(p) == len(dir) || p[len(dir)] == '/' || dir == "/")
}

func device(p string) place {
	switch p {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom":
		return nowhere
	}
	switch {
	case strings.HasPrefix(p, "/dev/fd/"):
		return nowhere
	case strings.HasPrefix(p, "/dev/tcp/"), strings.HasPrefix(p, "/dev/udp/"):
		return socket
	}
	return outside
}

// secretNames are files that hold credentials wherever they lie, sorted.
var secretNames = [...]string{
	".docker-credentials", ".dockercfg", ".env", ".git-credentials", ".htpasswd", ".my.cnf", ".netrc", ".npmrc", ".pgpass", ".pypirc",
	".vault-token", "_netrc", "application_default_credentials.json", "gshadow", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "shadow", "shadow-",
}

// secretTails are files that hold credentials, as the ends of their paths.
var secretTails = [...]string{
	".aws/credentials", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml", ".config/git/credentials",
	".config/gcloud/credentials.db", ".config/gcloud/access_tokens.db", ".config/hub", ".cargo/credentials", ".cargo/credentials.toml",
	".gem/credentials", ".config/containers/auth.json", ".terraform.d/credentials.tfrc.json", ".azure/accessTokens.json",
	".azure/msal_token_cache.json", ".m2/settings.xml", ".composer/auth.json", ".config/composer/auth.json", "etc/kubernetes/admin.conf",
	".oci/config", ".s3cfg", ".boto", ".config/rclone/rclone.conf", ".gnupg/secring.gpg", ".aws/config",
}

// secretDirs are directories that hold credentials: reading what is in them,
// as tar and cp -r do, reads those.
var secretDirs = [...]string{".ssh", ".aws", ".gnupg", ".gnupg/private-keys-v1.d", ".kube", ".docker", ".config/gcloud", ".config/gh", ".password-store"}

// secret reports whether the content of a path is a credential.
func secret(p string) bool {
	dir, base := split(p)
	switch {
	case base == "environ":
		return strings.HasPrefix(dir, "/proc")
	case base == "shadow" || base == "gshadow" || base == "shadow-":
		return dir == "/etc" || strings.HasSuffix(dir, "/etc")
	case strings.HasPrefix(base, ".env"):
		return secretEnv(base)
	case strings.HasSuffix(dir, ".ssh"):
		return strings.HasPrefix(base, "id_") && !strings.HasSuffix(base, ".pub") || base == "*" || base == "id*" || strings.HasSuffix(base, ".pem") || strings.HasSuffix(base, "_rsa") || strings.HasSuffix(base, "_ed25519") || strings.HasSuffix(base, ".key")
	case strings.HasPrefix(base, "ssh_host_"):
		return strings.HasSuffix(base, "_key")
	case strings.HasSuffix(dir, ".config/gcloud/legacy_credentials"):
		return true
	}
	for i := range secretNames {
		if secretNames[i] == base {
			return true
		}
	}
	if !strings.HasPrefix(base, ".") && !strings.Contains(dir, "/.") && !strings.HasPrefix(dir, ".") && !strings.HasPrefix(dir, "/etc") {
		return false
	}
	for i := range secretTails {
		if endsIn(p, secretTails[i]) {
			return secretTails[i] != ".aws/config"
		}
	}
	for i := range secretDirs {
		if endsIn(p, secretDirs[i]) || base == "*" && endsIn(dir, secretDirs[i]) {
			return true
		}
	}
	return false
}

func split(p string) (dir, base string) {
	i := strings.LastIndexByte(p, '/')
	if i <= 0 {
		return "", p[i+1:]
	}
	return p[:i], p[i+1:]
}

// endsIn reports whether the last elements of p are those of end.
func endsIn(p, end string) bool {
	return strings.HasSuffix(p, end) && (len(p) == len(end) || p[len(p)-len(end)-1] == '/')
}

// secretEnv judges .env and its variants; examples hold nothing.
func secretEnv(base string) bool {
	rest := base[len(".env"):]
	if rest == "" || rest == "*" {
		return true
	}
	if rest[0] != '.' {
		return false
	}
	for _, harmless := range [...]string{"example", "sample", "template", "dist", "defaults", "schema", "tpl", "test.example"} {
		if strings.HasSuffix(rest, harmless) {
			return false
		}
	}
	return true
}

// startFiles are read by every shell that starts, sorted.
var startFiles = [...]string{
	".bash_aliases", ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".cshrc", ".kshrc", ".login", ".mkshrc", ".profile",
	".tcshrc", ".xprofile", ".xsessionrc", ".zlogin", ".zlogout", ".zprofile", ".zshenv", ".zshrc",
}

// trusted reports whether writing a path changes what later commands run.
func (c *classifier) trusted(p string, at place) bool {
	dir, base := split(p)
	if i := strings.Index(p, ".git/hooks"); i >= 0 && (i == 0 || p[i-1] == '/') {
		rest := p[i+len(".git/hooks"):]
		return (rest == "" || rest[0] == '/') && !strings.HasSuffix(rest, ".sample")
	}
	if base == "authorized_keys" || base == "authorized_keys2" {
		return dir == "" || endsIn(dir, ".ssh")
	}
	if base != "" && base[0] == '.' && (at == outside || c.uncertain) {
		for i := range startFiles {
			if startFiles[i] == base {
				return true
			}
		}
	}
	if at != outside {
		return false
	}
	if strings.HasPrefix(p, "/etc/") {
		return trustedEtc(p[len("/etc/"):])
	}
	switch {
	case strings.HasPrefix(p, "/var/spool/cron"), strings.HasPrefix(p, "/var/cron/tabs"):
		return true
	case base == "config.fish", strings.Contains(p, "/.config/fish/conf.d/"), strings.Contains(p, "/fish/functions/"):
		return true
	}
	return strings.Contains(p, "/.pepe/") || strings.HasSuffix(p, "/.pepe")
}

func trustedEtc(rest string) bool {
	for _, d := range [...]string{"cron.d", "cron.daily", "cron.hourly", "cron.weekly", "cron.monthly", "profile.d", "zsh", "bash.bashrc.d"} {
		if within(rest, d) {
			return true
		}
	}
	switch rest {
	case "crontab", "anacrontab", "profile", "bash.bashrc", "bashrc", "zshenv", "zshrc", "zprofile", "cron.allow", "cron.deny":
		return true
	}
	return false
}

// harmlessProgram are programs that are usually named where an option or
// variable wants one: none of them runs what it is given.
func harmlessProgram(v string) bool {
	if strings.ContainsAny(v, ";|&$`()<>\n") {
		return false
	}
	if v == "ssh" || strings.HasPrefix(v, "ssh ") { // with an option that names a program, or a file that does, it is none of them
		return !strings.Contains(strings.ToLower(v), "command") && !strings.Contains(v, " -F") && !strings.Contains(v, " -I")
	}
	v, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(v, "/usr"), "/bin/"), " ")
	return listed("cat less more most bat delta true false : vi vim nvim nano emacs code gzip pigz bzip2 lbzip2 pbzip2 xz pixz zstd lz4 lzop lzma brotli compress "+
		"head tail never sensible-pager diff-so-fancy diff firefox chromium xdg-open open", v) || v == ""
}
