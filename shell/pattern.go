package shell

import (
	"path"
	"strings"
)

// binDirs are where a pattern is expected to find programs.
var binDirs = [...]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"}

// patternNames are the programs that a pattern is taken for, the ones that do
// most first: what a pattern really finds, only the file system knows.
var patternNames = [...]string{
	"rm", "dd", "shred", "mkfs", "mkfs.ext4", "mke2fs", "wipefs", "blkdiscard", "shutdown", "reboot", "poweroff", "halt", "init", "telinit", "systemctl",
	"sudo", "su", "doas", "pkexec", "chmod", "chown", "find", "sh", "bash", "dash", "zsh", "env", "xargs", "busybox", "eval", "python3", "perl", "ruby", "node",
	"curl", "wget", "nc", "ssh", "mv", "cp", "tee", "ln", "tar", "crontab", "cat",
}

// namedByPattern takes /bin/r? for the first program that it would find. The
// word stays a guess.
func namedByPattern(words []Word) []Word {
	dir, base := path.Split(words[0].Value)
	dir = strings.TrimRight(dir, "/")
	if dir == "" || dir[0] != '/' && strings.IndexByte("*?[", dir[0]) < 0 || words[0].Guess {
		return words
	}
	for _, d := range binDirs {
		if !matchPath(dir, d) {
			continue
		}
		for _, name := range patternNames {
			if ok, err := path.Match(base, name); ok && err == nil {
				first := words[0]
				first.Value, first.Prefix = d+"/"+name, ""
				first.Literal, first.Guess, first.Glob = false, true, false
				return append([]Word{first}, words[1:]...)
			}
		}
	}
	return words
}

// namedAround takes r${x}m and "$BIN"/rm for what they are while the variables
// are empty, when that is one of the programs above. The word stays a guess.
func namedAround(words []Word) []Word {
	first := words[0]
	if len(first.Subs) > 0 || first.Proc != 0 {
		return words
	}
	base := path.Base(first.Value)
	for _, name := range patternNames {
		if name == base {
			first.Guess = true
			return append([]Word{first}, words[1:]...)
		}
	}
	return words
}

func matchPath(pattern, dir string) bool {
	ok, err := path.Match(pattern, dir)
	return ok && err == nil
}

// maxPattern bounds the values that a pattern with several stars is cut from,
// and maxPatterns the squares of their lengths in one script.
const (
	maxPattern  = 1 << 8
	maxPatterns = 1 << 21
)

// cutPattern is what ${x#p}, ${x##p}, ${x%p} and ${x%%p} leave of a text.
func cutPattern(text, pattern string, suffix, longest bool) (string, bool) {
	if len(pattern) > 64 || strings.Count(pattern, "*") > 3 {
		return "", false
	}
	at := func(n int) (cut, rest string) {
		if suffix {
			return text[len(text)-n:], text[:len(text)-n]
		}
		return text[:n], text[n:]
	}
	for n := 0; n <= len(text); n++ {
		size := n
		if longest {
			size = len(text) - n
		}
		cut, rest := at(size)
		ok, known := matchText(pattern, cut)
		if !known {
			return "", false
		}
		if ok {
			return rest, true
		}
	}
	return text, true
}

// matchText matches a whole text; unlike in path.Match a star also stands for
// slashes. Extended patterns are not known.
func matchText(pattern, text string) (ok, known bool) {
	if strings.ContainsAny(pattern, "(\\") {
		return false, false
	}
	const slash = "\x00"
	ok, err := path.Match(strings.ReplaceAll(strings.ReplaceAll(pattern, "/", slash), "[!", "[^"), strings.ReplaceAll(text, "/", slash))
	return ok, err == nil
}
