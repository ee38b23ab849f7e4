package ssh

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/ssh/wire"
)

// Where no sbx runs on the other machine and the owner has accepted that nothing is
// held there, its sh runs the command. The command line is one of two fixed texts;
// what is to run crosses as a plan, a script of plain ASCII that the first of them
// takes over its input, line by line. Neither text holds a single quote, a line
// break when it is sent, or a mark that csh takes for its history.

// plainName stands for what runs the command there, in the place of a backend.
const plainName = "sh"

// keep is the session that outlives the command: it stores the plan and then takes
// one line each second. Without one it ends the tree. What runs there is found by
// its process group (sshd makes one for each session; where it does not, there is
// none of that number) and by descent. BusyBox takes the "--" before a group for a
// number; one process after the other, a command could end because its child did.
const keep = `umask 077; d=${TMPDIR:-/tmp}/.sbx-ID; mkdir "$d" || exit 1; trap "" HUP INT TERM PIPE;
 below() { { ps -A -o pid= -o ppid= -o pgid= || ps -o pid,ppid,pgid; } 2>/dev/null | awk -v t="$p" -v g="$1" "{ a[\$1] = \$2; b[\$1] = \$3 } END { for (x in a) { for (y = a[x]; (y in a) && y != t; y = a[y]); if (y == t && b[x] != g) print x } }"; };
 hit() { if kill -s 0 -- "-$p"; then kill -s "$1" -- "-$p" $2; elif kill -0 "-$p"; then kill "-$1" "-$p" $2; else kill -s "$1" $(below) "$p"; fi; } 2>/dev/null;
 finish() { p=$(cat "$d/pid"); if [ -n "$p" ]; then kill -s STOP "$p"; for i in 1 2 3; do l=$(below); [ -n "$l" ] || break; kill -s KILL $l; done; hit KILL; kill -s KILL "$p"; fi; rm -rf "$d"; } 2>/dev/null;
 echo take; while IFS= read -r l && [ "$l" != . ]; do printf "%s\n" "$l"; done >"$d/plan"; IFS= read -r n;
 if [ "$l" = . ] && [ $(wc -l <"$d/plan") -eq "$n" ]; then echo ready; else rm -rf "$d"; exit 1; fi;
 { n=0; while [ -d "$d" ]; do sleep 1; if [ -f "$d/beat" ]; then rm -f "$d/beat"; n=0; else n=$((n+1)); fi; [ $n -lt 3 ] || { finish; kill -s KILL $$; }; done; } </dev/null >/dev/null 2>&1 &
 while IFS= read -r l; do : >"$d/beat"; p=$(cat "$d/pid"); case $l in quit) break;; end\ *) hit TERM "$(below "$p")"; n=${l#end }; while [ "$n" -gt 0 ] && kill -s 0 "$p"; do sleep 1; n=$((n-1)); : >"$d/beat"; done; break;; signal\ *) hit "${l#signal }";; esac; done 2>/dev/null;
 w=none; [ -s "$d/pid" ] && w=lost; [ -s "$d/status" ] && w="status $(cat "$d/status")"; [ -s "$d/why" ] && w="why $(cat "$d/why")"; finish; echo "$w"`

// start is the session of the command. What sh itself says of it (that it was
// killed, say) is none of its output.
const start = `d=${TMPDIR:-/tmp}/.sbx-ID; trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE; exec 3>&2 2>/dev/null; echo $$ >"$d/pid" || exit 125;` +
	` ( exec 2>&3 3>&-; . "$d/plan" ); s=$?; echo $s >"$d/status"; exit $s`

// Why the plan came to no command, as it is written to the file why.
const (
	noWorkspace = "workspace"
	noDirectory = "directory"
	notFound    = "127"
	notExec     = "126"
)

// plain makes one of the texts a command line.
func plain(text, id string) string {
	return inShell(strings.ReplaceAll(strings.ReplaceAll(text, "ID", id), "\n", ""))
}

// plan is the script that becomes the command: nothing but words. It expects $d to
// be its directory. The environment is what crossed and what the login says of who
// and where it is.
func plan(o wire.Order) (string, error) {
	p := &planText{}
	p.line(`LC_ALL=C; rm -f "$d/plan"`)
	for _, words := range [...][][]byte{o.Argv, o.Env, {o.Dir}} {
		for _, w := range words {
			if strings.IndexByte(string(w), 0) >= 0 {
				return "", fmt.Errorf("word %q: it holds a zero byte: %w", w, sandbox.ErrStart)
			}
		}
	}
	ws, dir := o.Profile.Workspace, string(o.Dir)
	if dir == "" {
		dir = ws
	}
	p.line(`[ "$(cd -P -- %s 2>/dev/null && pwd -P && echo .)" = %s ] || { echo %s >"$d/why"; exit 125; }`, p.word(ws), p.word(ws+"\n."), noWorkspace)
	p.line(`CDPATH= cd -- %s 2>/dev/null || { echo %s >"$d/why"; exit 125; }`, p.word(dir), noDirectory)
	argv := make([]string, len(o.Argv))
	for i, w := range o.Argv {
		argv[i] = p.word(string(w))
	}
	if at := o.ScriptAt; at > 0 && at < len(argv) {
		argv[at] = p.file(path.Base(string(o.Argv[at])), o.Script)
	}
	home := o.Profile.Home
	var env []string
	for _, kv := range wire.Crossing(wire.Strings(o.Env), o.Profile.Private, func(string) bool { return true }) {
		if value, is := strings.CutPrefix(kv, "HOME="); is {
			home = value
		} else {
			env = append(env, p.word(kv))
		}
	}
	if home != "" {
		p.line(`[ ! -d %[1]s ] || HOME=%[1]s`, p.word(home))
	}
	p.line(`set -- %s`, strings.Join(argv, " "))
	p.line(`case $1 in */*) [ -e "$1" ] || { echo %[1]s >"$d/why"; exit %[1]s; }; [ -f "$1" ] && [ -x "$1" ] || { echo %[2]s >"$d/why"; exit %[2]s; };; `+
		`*) command -v "$1" >/dev/null 2>&1 || { echo %[1]s >"$d/why"; exit %[1]s; };; esac`, notFound, notExec)
	// env would take a program with an equals sign in its name for a variable.
	p.line(`case $1 in *=*) set -- nice -n 0 "$@";; esac`)
	own := ""
	for _, name := range wire.MachineVars {
		own += fmt.Sprintf(` ${%[1]s+"%[1]s=$%[1]s"}`, name)
	}
	p.line(`exec env -i%s %s "$@"`, own, strings.Join(env, " "))
	return p.text.String(), nil
}

// planText is a plan as it is written.
type planText struct {
	text  strings.Builder
	words int // how many stand in variables
}

func (p *planText) line(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

// word gives the form of a word. What is no printable ASCII is made by printf, and
// stands in a variable: the dot keeps line breaks at the end.
func (p *planText) word(w string) string {
	if !strings.ContainsFunc(w, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	p.words++
	p.line(`w%[1]d=$(printf '%[2]s.'); w%[1]d=${w%[1]d%%.}`, p.words, octal(w))
	return fmt.Sprintf(`"$w%d"`, p.words)
}

// file puts a file beside the plan, and gives the word that is its path.
func (p *planText) file(name string, text []byte) string {
	name = p.word("script-" + name)
	for part := text; ; part = part[min(len(part), 4096):] {
		p.line(`printf '%s' >>"$d/"%s`, octal(string(part[:min(len(part), 4096)])), name)
		if len(part) <= 4096 {
			return `"$d/"` + name
		}
	}
}

// octal is a format of printf for any bytes.
func octal(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(" /_.,:;=+#(){}[]<>|&$\"*?~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return b.String()
}

// UnheldError refuses a run on a machine without sbx: nothing would be held there,
// and that was not accepted.
type UnheldError struct {
	Why  string // in a sentence: "there is no sbx on HOST, …"
	Gaps *sandbox.GapError
}

func (e *UnheldError) Error() string { return e.Why + ": nothing would be held there" }

// Unwrap gives the gaps.
func (e *UnheldError) Unwrap() error { return e.Gaps }

// plainGaps is every control that a plan has to speak of: sh there confines nothing.
// The output is counted here.
func plainGaps(host string, l sandbox.Limits) []sandbox.Gap {
	var list []sandbox.Gap
	for _, c := range sandbox.Controls() {
		if l.Speaks(c) && c != sandbox.LimitOutput {
			list = append(list, sandbox.Gap{Control: c, Why: "no sbx runs on " + host, Fix: "install sbx there"})
		}
	}
	return list
}

// checkPlain says what sh there cannot do at all.
func (s *session) checkPlain() error {
	p := s.profile
	switch {
	case s.options.Workspace != Shared:
		return errors.New("without it no workspace is carried: --ssh-workspace shared is for one that both machines have at the same path")
	case p.ReadOnly:
		return errors.New("without it no workspace is kept read-only: leave out --read-only (sbx.read_only)")
	case p.Tier+p.MinTier != "":
		return fmt.Errorf("without it there is no tier %q", p.MinTier+p.Tier)
	}
	return nil
}
