package shell

import (
	"fmt"
	"strings"
	"testing"
)

// readingCases: a text and the calls that are in it, in the order of their
// emission. "?" behind a word says that it is not literal.
var readingCases = []struct {
	text string
	want string
}{
	{`ls -la`, `ls -la`},
	{`r''m "a b" 'c'\d $'\x65\n'`, "rm|a b|cd|e\n"},
	{`$'\u0072m' a`, `rm a`},
	{`rm{,dir} x{1..3} {a,b}{c,d}`, `rm rmdir x1 x2 x3 ac ad bc bd`},
	{`{rm,-rf,/}`, `rm -rf /`},
	{`X=/; rm -rf $X "$X"etc ${X}usr`, `; rm -rf / /etc /usr`},
	{`X="-rf /"; rm $X`, `; rm -rf /`},
	{`rm${IFS}-rf$IFS/`, `rm -rf /`},
	{`a=(rm -rf /); "${a[@]}"`, `; rm -rf /`},
	{`a=(rm -rf); a+=(/); ${a[@]} ${a[1]}`, `; ; rm -rf / -rf`},
	{`R=RM; ${R,,} x ${R:0:1} ${R/M/N} ${R%M}`, `; rm x R RN R`},
	{`set -- rm -rf /; "$@"; $1 $3; shift; echo $1`, `set -- rm -rf /; rm -rf /; rm /; shift; echo -rf`},
	{`n=HOME; ls ${!n}`, `; ls /home/dev`},
	{`ls ~ ~/x ~root ~dev/y "~" '$HOME' $HOME "${HOME}"/z a~`, `ls /home/dev /home/dev/x /root /home/dev/y ~ $HOME /home/dev /home/dev/z a~`},
	{`rm "$UNSET/x" ${Y:-/etc} ${Z:?no}`, `rm /x? /etc? ?`},
	{`$(echo rm) -rf $(pwd)`, `echo rm; pwd; rm? -rf /home/dev/app?`},
	{"echo `date` $((1+$(id -u)))", `date; id -u; echo ? ?`},
	{`cat <(ls a) >(wc) < <(ps)`, `ls a; wc; ps; cat ? ?`},
	{`echo ${x:-$(touch a)} "${x/$(touch b)/}" ${x[$(touch c)]}`, `touch a; touch b; touch c; echo ? ? ?`},
	{`[[ -n $(touch a) && x == $(touch b) ]]; case $(touch c) in $(touch d)) ;; esac`, `touch a; touch b; touch c; touch d`},
	{`x=$(touch a) ls; declare y=$(touch b); export A=1 B`, `touch a; ls; touch b; declare; export B`},
	{"cat <<E\n$(touch a) `touch b` \\$(touch c)\nE", `touch a; touch b; cat`},
	{"cat <<'E'\n$(touch a)\nE", `cat`},
	{`cat <<< "$(touch a)"`, `touch a; cat`},
	{`if a; then b; elif c; then d; else e; fi; while f; do g; done; until h; do i; done; select j in k; do l; done`, `a; b; c; d; e; f; g; h; i; l`},
	{`f() { rm -rf "$1"; }; f /; f`, `rm -rf ?; f /; rm -rf /; f; rm -rf ?`},
	{`f() { echo {,a}$1; }; f x; for i in 1 2; do ls {,b}$i; done`, `echo ? a?; f x; echo x ax; ls 1 b1; ls 2 b2`},
	{"( ''#a; rm b\n); x $(\"\"#a; rm c\n); y `\"d\"#a; rm e`", "#a; rm b; #a; rm c; x ?; d#a; rm e; y ?"},
	{"( y $z#a; rm b\n); case x in x) ''#a; rm c;; esac; ( $(a)#b; rm d ) # e", "y #a?; rm b; #a; rm c; a; #b?; rm d"},
	{"(echo \"#\"a '#' \"x\" # rm b\n); echo $((16#ff)) ${x#a} ${#x} $# a#b", "echo #a # x; echo ? ? ? ? a#b"},
	{
		`X=/; bash -c 'rm $X'; export X; bash -c 'rm $X'; Y=/ bash -c 'rm $Y'; HOME=/ ; sh -c 'rm ~'`,
		`; bash -c rm $X; rm ?; export X; bash -c rm $X; rm /; bash -c rm $Y; rm /; ; sh -c rm ~; rm /`,
	},
	{`P=a/b/c; ls ${P%/*/*} ${P##*/} ${P%%/*} ${P#*/} ${P: -3} ${P:(-1)}`, `; ls a c a b/c b/c c`},
	{`set -- a b c; ls "${@:2}" ${@:2:1}; l=(x y z); ls ${l[@]:1}`, `set -- a b c; ls b c b; ; ls y z`},
	{`IFS=,:; v=a,b:c; ls $v "$v"`, `; ; ls a b c a,b:c`},
	{`declare -n r=HOME; ls $r`, `declare -n; ls /home/dev`},
	{`ls $(dirname /a/b) $(basename /a/b) $(echo sn | tr a-z n-za-m)`, `dirname /a/b; basename /a/b; echo sn; tr a-z n-za-m; ls /a? b? fa?`},
	{`/bin/r? a; /usr/b*/[d]d b; ./r? c; r? d`, `/bin/rm? a; /usr/bin/dd? b; ./r? c; r? d`},
	{`echo 'rm a' > >(sh); source <(echo rm b); bash <(echo rm c)`, `sh; echo rm a; rm a; echo rm b; source ?; rm b; echo rm c; bash ?; rm c`},
	{`parallel 'ls -{}' ::: a b; parallel ls x{} ::: c; su - <<< 'rm d'`, `parallel ls -{} ::: a b; ls -a; ls -b; parallel ls x{} ::: c; ls xc; su -; rm d`},
	{
		`pnpm -C d exec rm a; asdf exec rm b; chamber exec s -- rm c; setarch -R rm d; /lib64/ld-linux-x86-64.so.2 rm e; cmake -E time rm f; sg g -c 'rm h'`,
		`pnpm -C d exec rm a; rm a; asdf exec rm b; rm b; chamber exec s -- rm c; rm c; setarch -R rm d; rm d; /lib64/ld-linux-x86-64.so.2 rm e; rm e; cmake -E time rm f; rm f; sg g -c rm h; rm h`,
	},
	{`eval 'X=/'; rm $X; eval cd /; rm {,y}`, `eval X=/; ; rm /; eval cd /; cd /; rm y`},
	{`X=/ ls; rm $X; A=/ B=$A ls; rm $A`, `ls; rm ?; ls; rm ?`},
	{
		`bwrap --ro-bind / / --chdir /tmp --unshare-all -- rm x; start-stop-daemon --start --exec /bin/rm -- y`,
		`bwrap --ro-bind / / --chdir /tmp --unshare-all -- rm x; rm x; start-stop-daemon --start --exec /bin/rm -- y; /bin/rm y`,
	},
	{`coproc rm -rf / | cat; coproc N { ls; }`, `rm -rf /; cat; ls`},
	{`env - rm x; env - A=1 rm y; env X=/etc bash -c 'rm $X'`, `env - rm x; rm x; env - A=1 rm y; rm y; env X=/etc bash -c rm $X; bash -c rm $X; rm /etc`},
	{`A=/ B=$A; rm $B; C=/ D=$C bash -c 'rm $D'`, `; rm /; bash -c rm $D; rm /`},
	{`read d <<< /etc; rm $d; read a b <<< "x y z"; echo $b; mapfile -t m <<< /usr; rm "${m[0]}"`, `read d; rm /etc; read a b; echo y z; mapfile -t m; rm /usr`},
	{`d=/etc/x/y; rm ${d%/*} ${d%%/x*} ${d##*/} ${d#*/}`, `; rm /etc/x /etc y etc/x/y`},
	{
		`X=/; env X=build bash -c "rm $X"; X=build bash -c "rm $X"; env Y=1 sh -c "rm $Y"`,
		`; env X=build bash -c rm /; bash -c rm /; rm /; bash -c rm /; rm /; env Y=1 sh -c rm ?; sh -c rm ?; rm ?`,
	},
	{`alias x='rm -rf'; x /`, `alias x=rm -rf; x /; rm -rf /`},
	{`for d in / "/usr"; do rm -rf $d; done`, `rm -rf /; rm -rf /usr`},
	{`for ((i=$(a);i<$(b);i++)); do c; done`, `a; b; c`},
	{`trap 'rm -rf /' EXIT; trap - INT`, `trap rm -rf / EXIT; rm -rf /; trap - INT`},
	{`eval "rm -rf" /; eval 'a; b'`, `eval rm -rf /; rm -rf /; eval a; b; a; b`},
	{`bash -c 'cd /; rm -rf "$1"' _ /etc`, `bash -c cd /; rm -rf "$1" _ /etc; cd /; rm -rf /etc`},
	{`bash -lc 'a' ; bash -o pipefail -c b; sh -ec 'c'; /bin/dash -c "d"`, `bash -lc a; a; bash -o pipefail -c b; b; sh -ec c; c; /bin/dash -c d; d`},
	{`sudo -n -u root rm x; sudo FOO=1 rm y; doas rm z; su -c 'rm q'; su dev -c "rm r"`, `sudo -n -u root rm x; rm x; sudo FOO=1 rm y; rm y; doas rm z; rm z; su -c rm q; rm q; su dev -c rm r; rm r`},
	{`env -u B -i A=1 rm x; env -S 'bash -c "touch y"'`, `env -u B -i A=1 rm x; rm x; env -S bash -c "touch y"; bash -c touch y; touch y`},
	{`timeout -k 5 10 nice -n 5 stdbuf -oL rm x`, `timeout -k 5 10 nice -n 5 stdbuf -oL rm x; nice -n 5 stdbuf -oL rm x; stdbuf -oL rm x; rm x`},
	{`time rm a; ! rm b; command -p rm c; command -v rm; exec -a n rm d; builtin cd /`, `rm a; rm b; command -p rm c; rm c; command -v rm; exec -a n rm d; rm d; builtin cd /; cd /`},
	{`find . -name x -exec rm {} \; -exec sh -c 'ls "$1"' _ {} +`, `find . -name x -exec rm {} ; -exec sh -c ls "$1" _ {} +; rm {}; sh -c ls "$1" _ {}; ls {}`},
	{`a | xargs -I{} -P 4 rm {} | b`, `a; xargs -I{} -P 4 rm {}; rm {}; b`},
	{`echo / | xargs rm -rf`, `echo /; xargs rm -rf; rm -rf /`},
	{
		`parallel -j 4 rm ::: a b; fd -e x -x rm {}; watch -n 1 'ls | wc'; flock /l rm y; flock /l -c 'rm z'`,
		`parallel -j 4 rm ::: a b; rm a b; fd -e x -x rm {}; rm {}; watch -n 1 ls | wc; ls; wc; flock /l rm y; rm y; flock /l -c rm z; rm z`,
	},
	{
		`echo 'rm -rf /' | sh; printf '%s\n' 'rm x' | bash -s a; echo cm0gLXJmIC8= | base64 -d | sh`,
		`echo rm -rf /; sh; rm -rf /; printf %s\n rm x; bash -s a; rm x; echo cm0gLXJmIC8=; base64 -d; sh; rm -rf /`,
	},
	{"bash <<'E'\nrm -rf /\nE", `bash; rm -rf /`},
	{`bash <<< 'rm x'; busybox rm y; busybox sh -c 'rm z'`, `bash; rm x; busybox rm y; rm y; busybox sh -c rm z; sh -c rm z; rm z`},
	{
		`git -c alias.x='!touch p' x; git submodule foreach 'git clean'; tmux new-session -d -s w 'npm start'`,
		`git -c alias.x=!touch p x; touch p; git submodule foreach git clean; git clean; tmux new-session -d -s w npm start; npm start`,
	},
	{`echo $((foo); (rm b)); ((a); (b)); ls ${x[a b]}`, `foo; rm b; echo ?; a; b; ls ?`},
	{"echo a # rm b\nls 'x\ny'", "echo a; ls|x\ny"},
	{"rm \\\n -rf x", `rm -rf x`},
	{`coproc c { ls; }; time { a; b; }; { c; } 2>/dev/null`, `ls; a; b; ; c`},
	{
		`x='$(touch p)'; echo "${x@P}"; printf -v 'a[$(touch q)]' y; [[ 'b[$(touch r)]' -eq 0 ]]; declare 'c[$(touch s)]=1'; unset 'd[$(touch t)]'`,
		`; touch p; echo ?; printf -v a[$(touch q)] y; touch q; touch r; [[ b[$(touch r)]; declare c[$(touch s)]=1; touch s; unset d[$(touch t)]; touch t`,
	},
	{`printf -v v 'rm'; $v x; read r; $r y`, `printf -v v rm; rm x; read r; ? y`},
	{`bash -c "rm -rf $X/"`, `bash -c rm -rf /?; rm -rf /?`},
}

func render(s *Script) string {
	var calls []string
	for _, c := range s.Calls {
		var words []string
		sep := " "
		for _, w := range c.Words {
			v := w.Value
			if !w.Literal {
				v += "?"
			}
			if strings.ContainsAny(v, "\n") {
				sep = "|"
			}
			words = append(words, v)
		}
		calls = append(calls, strings.Join(words, sep))
	}
	return strings.Join(calls, "; ")
}

func TestReading(t *testing.T) {
	for _, c := range readingCases {
		s := ParseAt(c.text, Bash, home)
		if got := render(s); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
		if s.Err != nil {
			t.Errorf("%s: %v", c.text, s.Err)
		}
	}
}

func TestDirectories(t *testing.T) {
	for text, want := range map[string]string{
		"cd /; rm x":                            "/",
		"cd; rm x":                              "/home/dev",
		"cd ~/a && rm x":                        "/home/dev/a",
		"cd src && cd .. && rm x":               "/home/dev/app",
		"(cd /); rm x":                          "/home/dev/app",
		"{ cd /; }; rm x":                       "/",
		"cd / | rm x":                           "/home/dev/app",
		"pushd /etc; popd; rm x":                "/home/dev/app",
		"pushd /etc; rm x":                      "/etc",
		"cd /; cd -; rm x":                      "/home/dev/app",
		"cd $UNKNOWN; rm x":                     "",
		"cd /opt/$UNKNOWN; rm x":                "/opt/?",
		"f() { cd /; }; f; rm x":                "/",
		"bash -c 'cd /'; rm x":                  "/home/dev/app",
		"env -C /srv rm x":                      "/srv",
		"sudo --chdir=/srv rm x":                "/srv",
		"D=/var; cd $D/log; rm x":               "/var/log",
		"cd -P -- /tmp; rm x":                   "/tmp",
		"if cd /; then rm x; fi":                "/",
		"x=$(cd /; pwd); rm x":                  "/home/dev/app",
		"cd /nowhere 2>/dev/null || cd /; rm x": "/",
		"while read l; do cd /; rm x; done <l":  "/",
		"cd /home/dev/app/../..; rm x":          "/home",
		"for d in a; do cd $d; rm x; done":      "/home/dev/app/a",
		"builtin cd /; rm x":                    "/",
		"command cd /; rm x":                    "/",
		"sh -c 'cd \"$0\" && rm x' /etc":        "/etc",
	} {
		s := ParseAt(text, Bash, home)
		last := s.Calls[0]
		for _, c := range s.Calls {
			if c.Name() == "rm" {
				last = c
			}
		}
		if last.Name() != "rm" || last.Dir != want {
			t.Errorf("%s: %s runs in %q, want %q", text, last.Name(), last.Dir, want)
		}
	}
}

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		d    Dialect
		text string
		want string
	}{
		{Bash, `$'\x72\x6d' x`, `rm x`},
		{POSIX, `$'\x72\x6d' x`, `$\x72\x6d x`},
		{POSIX, `{rm,-rf,/}`, `{rm,-rf,/}`},
		{Zsh, `=curl x`, `curl x`},
		{Bash, `=curl x`, `=curl x`},
		{Zsh, `X="a b"; rm $X`, `; rm a b`},
		{Mksh, `echo ${ rm x; }`, `rm x; echo ?`},
		{Sh, `{rm,x}`, `rm x; {rm,x}`},
		{Sh, `rm x`, `rm x`},
		{Sh, `cat <(rm x)`, `rm x; cat ?`},
		{Bash, `sh -c '{rm,x}'`, `sh -c {rm,x}; rm x; {rm,x}`},
		{Bash, `bash -c '{rm,x}'`, `bash -c {rm,x}; rm x`},
	} {
		s := ParseAt(c.text, c.d, home)
		if got := render(s); got != c.want || s.Err != nil {
			t.Errorf("%v %s\n got %s %v\nwant %s", c.d, c.text, got, s.Err, c.want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"rm a\necho \"open", "rm a"},
		{"rm a; if true; then rm b", "rm a; true; rm b"},
		{"rm a\nls )\nrm b", "rm a; rm b"},
		{"echo $(rm a", "rm a"},
		{"bash -c 'rm a; )'", "bash -c rm a; ); rm a"},
	} {
		s := ParseAt(c.text, Bash, home)
		if s.Err == nil || len(s.Unknown) == 0 {
			t.Errorf("%q: no error", c.text)
		}
		got := render(s)
		for _, call := range strings.Split(c.want, "; ") {
			if !strings.Contains(got, call) {
				t.Errorf("%q: %q is not in %q", c.text, call, got)
			}
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ text, call, at string }{
		{"ls; rm -rf x > y", "rm", "rm -rf x > y"},
		{"bash -c 'cd a; rm -rf /'", "rm", "rm -rf /"},
		{"bash -c \"cd a; rm -rf \\\"$HOME\\\"\"", "rm", "rm -rf \\\"$HOME\\\""},
		{"eval 'rm' \"-rf /\"", "rm", "rm' \"-rf /"},
		{"sudo rm x &", "rm", "rm x"},
		{"bash <<'E'\nls\nrm -rf /\nE", "rm", "rm -rf /"},
		{"x | sh -c 'a | sh -c \"rm b\"'", "rm", "rm b"},
	} {
		s := ParseAt(c.text, Bash, home)
		for _, call := range s.Calls {
			if call.Name() == c.call && s.Slice(call.Span) != c.at {
				t.Errorf("%s: %s stands at %q, want %q", c.text, c.call, s.Slice(call.Span), c.at)
			}
		}
	}
	s := FromArgv([]string{"sh", "-c", "ls\nrm -rf /", "it's"}, home)
	if got := s.Slice(s.Calls[2].Span); got != "rm -rf /" {
		t.Errorf("in argv: %q of %q", got, s.Text)
	}
	if p := s.Pos(s.Calls[2].Span.Start); p.Line != 2 || p.Column != 1 {
		t.Errorf("position %+v", p)
	}
}

func TestPipes(t *testing.T) {
	s := ParseAt("(curl a; curl b) | sudo tee x | { bash; wc; } &", Bash, home)
	got := ""
	for i, c := range s.Calls {
		got += fmt.Sprintf("%d %s %v %v %v\n", i, c.Name(), c.PipeFrom, c.PipeTo, c.Background)
	}
	want := "0 curl [] [2 3] true\n1 curl [] [2 3] true\n2 sudo [0 1] [4 5] true\n3 tee [0 1] [4 5] true\n4 bash [2 3] [] true\n5 wc [2 3] [] true\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestUnsetVariables(t *testing.T) {
	s := ParseAt(`rm "$NEVER/" "${GUARD:?}/" "$SET/"`, Bash, home)
	for i, want := range []int{1, 0, 1} {
		if got := len(s.Calls[0].Args()[i].Vars); got != want {
			t.Errorf("operand %d: %d unset variables, want %d", i, got, want)
		}
	}
	s = ParseAt(`SET=$(x); rm "$SET/"`, Bash, home)
	if vars := s.Calls[len(s.Calls)-1].Args()[0].Vars; len(vars) != 0 {
		t.Errorf("an assigned variable counts as unset: %v", vars)
	}
}

// Bytes that are no UTF-8 are an error, and what stands beside them is read.
func TestInvalidUTF8(t *testing.T) {
	s := Parse("echo \xff; rm a; r\xffm b", Bash)
	if s.Err == nil || len(s.Calls) != 3 || s.Calls[1].Name() != "rm" || s.Calls[2].Name() == "rm" {
		t.Errorf("%v, %d calls", s.Err, len(s.Calls))
	}
}
