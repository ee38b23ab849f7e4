//go:build amd64 || arm64

package direct_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/direct"
	"github.com/sbx-run/sbx/sandbox/none"
)

// explained runs a command of a supervisor that records what is refused.
func (r *room) explained(argv ...string) (string, sandbox.Result) {
	r.Helper()
	if r.profile.Explain == sandbox.ExplainNone {
		r.profile.Explain = sandbox.ExplainWrites
	}
	out, result := r.runSupervised(orders{Argv: argv, Timeout: 2 * time.Minute})
	if !slices.Contains(result.Enforced, sandbox.DenialsExplained) || gapOf(result, sandbox.DenialsExplained) != "" {
		r.Errorf("denials are not explained: %+v", result.Gaps)
	}
	return out, result
}

func gapOf(r sandbox.Result, c sandbox.Control) string {
	for _, g := range r.Gaps {
		if g.Control == c {
			return g.Why
		}
	}
	return ""
}

func explainTiers(t *testing.T, test func(*room)) {
	for _, tier := range []string{full, landlock} {
		t.Run(tier, func(t *testing.T) { test(newRoom(t, tier)) })
	}
}

// short names records as "operation path", with the room's own paths as words.
func (r *room) short(list []sandbox.Denial) []string {
	var lines []string
	for _, d := range list {
		line := string(d.Operation) + " " + d.Path
		if d.To != "" {
			line += " " + d.To
		}
		for path, word := range map[string]string{r.workspace: "WS", r.outside: "OUT", r.home: "HOME"} {
			line = strings.ReplaceAll(line, path+"/", word+"/")
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func (r *room) same(what string, list []sandbox.Denial, want ...string) {
	r.Helper()
	slices.Sort(want)
	if got := r.short(list); !slices.Equal(got, want) {
		r.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDenialsAreRecorded(t *testing.T) { explainTiers(t, testDenialsAreRecorded) }

// Each act works unconfined, changes nothing confined, and is recorded.
func testDenialsAreRecorded(r *room) {
	layer := sandbox.LayerMount
	if !r.isFull() {
		layer = sandbox.LayerLandlock
	}
	f, e, w := r.outside+"/file", r.outside+"/empty", r.workspace+"/own"
	metadata := func(name string) []string {
		if r.isFull() {
			return []string{"metadata OUT/" + name}
		}
		return nil // a gap of the tier: it works
	}
	for _, tt := range []struct {
		act  []string
		want []string
	}{
		{[]string{"create", r.outside + "/new"}, []string{"create OUT/new"}},
		{[]string{"append", f}, []string{"write OUT/file"}},
		{[]string{"open-truncate", f}, []string{"write OUT/file"}},
		{[]string{"truncate", f}, []string{"write OUT/file"}},
		{[]string{"mkdir", r.outside + "/new"}, []string{"create OUT/new"}},
		{[]string{"mkfifo", r.outside + "/new"}, []string{"create OUT/new"}},
		{[]string{"symlink", "x", r.outside + "/new"}, []string{"create OUT/new"}},
		{[]string{"rmdir", e}, []string{"delete OUT/empty"}},
		{[]string{"unlink", f}, []string{"delete OUT/file"}},
		{[]string{"rename", f, r.outside + "/g"}, []string{"rename OUT/file OUT/g"}},
		{[]string{"rename", f, r.workspace + "/g"}, []string{"rename OUT/file WS/g"}},
		{[]string{"rename", w, r.outside + "/g"}, []string{"rename WS/own OUT/g"}},
		{[]string{"rename", w, f}, []string{"rename WS/own OUT/file"}},
		{[]string{"link", f, r.workspace + "/h"}, []string{"link OUT/file WS/h"}},
		{[]string{"link", w, r.outside + "/h"}, []string{"link WS/own OUT/h"}},
		{[]string{"symlink-write", f, r.workspace + "/l"}, []string{"write OUT/file"}},
		{[]string{"symlink-write", r.outside + "/new", r.workspace + "/l"}, []string{"create OUT/new"}},
		{[]string{"symlink-write", "../outside/./new", r.workspace + "/l"}, []string{"create OUT/new"}},
		{[]string{"append", r.workspace + "/a/../../outside/file"}, []string{"write OUT/file"}},
		{[]string{"chmod", f}, metadata("file")},
		{[]string{"utime", f}, metadata("file")},
	} {
		r.reset()
		if got := r.do(r.unconfined(), tt.act[0], tt.act[1:]...); got != "ok" {
			r.Fatalf("control: %v: %s", tt.act, got)
		}
		r.reset()
		before := r.outsideState()
		out, result := r.explained(append([]string{self(r)}, tt.act...)...)
		if (out == "ok") != (tt.want == nil) || tt.want != nil && r.outsideState() != before {
			r.Errorf("%v: %s", tt.act, out)
		}
		r.same(fmt.Sprint(tt.act), result.Denials, tt.want...)
		for _, d := range result.Denials {
			if d.Layer != layer || d.Rule == "" || d.Count != 1 || d.Call == "" || d.Likely {
				r.Errorf("%v: %+v", tt.act, d)
			}
		}
	}
}

func TestOtherFailuresAreNoDenials(t *testing.T) { explainTiers(t, testOtherFailuresAreNoDenials) }

// What fails without a sandbox too, and what works, is not recorded.
func testOtherFailuresAreNoDenials(r *room) {
	check(r, os.Mkdir(r.outside+"/closed", 0o555))
	script := `exec 2>/dev/null
		echo x >absent/f; echo x >/absent/f; echo x >a; mkdir a /usr /etc; mkdir -p /usr/bin b/c/d; rmdir "$OUT"; rm "$OUT/none"; mv "$OUT/none" g
		rmdir a; ln own "$OUT/file"; set -C; echo x >"$OUT/file"; set +C
		echo x >new; cp new newer; mv newer a/moved; rm new; chmod 600 own; touch own; ln own hard; ln -s /etc/hosts soft; cat soft >/dev/null; rm -r b
		ln -s loop loop; echo x >loop; echo x >loop/f; echo x >own/f; cat "$HOME/.netrc"; echo x >/dev/null; echo x >/dev/stdout; mktemp
		`
	if os.Geteuid() != 0 { // root may do these
		script += `echo x >/etc/passwd; rm /etc/passwd; chmod 777 /etc; mkdir /sbx-test; touch /usr; mv own /usr/own; echo x >"$OUT/closed/f"; rm /tmp/.
		`
	}
	r.extra = []string{"OUT=" + r.outside}
	before := r.outsideState()
	_, result := r.explained("sh", "-c", script+"true")
	if result.ExitCode != 0 || result.DenialsBeyond != 0 {
		r.Errorf("%+v", result)
	}
	r.same("denials", result.Denials)
	if r.outsideState() != before {
		r.Error("something changed outside")
	}
}

func TestDenialsAsAnIdentity(t *testing.T) { explainTiers(t, testDenialsAsAnIdentity) }

// Root runs the command as somebody else: that user's permissions count.
func testDenialsAsAnIdentity(r *room) {
	if os.Geteuid() != 0 {
		r.Skip("only root can")
	}
	const id, shared = 65531, 65530
	r.profile.Identity = &sandbox.Identity{UID: id, GID: id, Groups: []uint32{shared}}
	for _, d := range []struct {
		name     string
		uid, gid int
		mode     os.FileMode
	}{{"mine", id, id, 0o755}, {"group", 0, shared, 0o775}, {"roots", 0, 0, 0o755}, {"sticky", 0, 0, 0o777 | os.ModeSticky}} {
		check(r, os.Mkdir(r.outside+"/"+d.name, 0o755))
		check(r, os.WriteFile(r.outside+"/"+d.name+"/f", nil, 0o644))
		check(r, os.Chown(r.outside+"/"+d.name, d.uid, d.gid))
		check(r, os.Chmod(r.outside+"/"+d.name, d.mode))
	}
	check(r, os.Chown(r.workspace, id, id))
	check(r, os.Chown(r.outside+"/mine/f", id, id))
	r.extra = []string{"OUT=" + r.outside}
	_, result := r.explained("sh", "-c", `cd "$OUT"; for d in mine group roots sticky; do echo x >$d/new; echo x >$d/f; rm -f $d/f; done; touch -d 2001-01-01 mine/f roots/f; true`)
	want := []string{
		"create OUT/mine/new", "create OUT/group/new", "create OUT/sticky/new", "delete OUT/group/f", "delete OUT/mine/f", "write OUT/mine/f",
	}
	if r.isFull() {
		want = append(want, "metadata OUT/mine/f")
	}
	r.same("denials", result.Denials, want...)
}

func TestReadsOfHiddenFiles(t *testing.T) { explainTiers(t, testReadsOfHiddenFiles) }

func testReadsOfHiddenFiles(r *room) {
	r.profile.Explain = sandbox.ExplainReads
	check(r, os.WriteFile(r.home+"/.ssh/closed", nil, 0))
	script := `cat "$HOME/.ssh/id" "$HOME/.netrc" "$HOME/.netrc" "$HOME/.ssh/none" "$HOME/.config/other" "$HOME/src/code" own /etc/hosts /etc/none; ls /usr; true`
	out, result := r.explained("sh", "-c", script)
	if strings.Contains(out, "secret") || !strings.Contains(out, "open") {
		r.Errorf("%s", out)
	}
	r.same("denials", result.Denials, "read HOME/.netrc", "read HOME/.ssh/id")
	for _, d := range result.Denials {
		times := 1
		if strings.HasSuffix(d.Path, ".netrc") {
			times = 2
		}
		if d.Count != times || d.Allow != "--allow-read "+d.Path {
			r.Errorf("%+v", d)
		}
	}
	// What the record advises works.
	r.profile.Read = append(r.profile.Read, r.home+"/.netrc")
	out, result = r.explained("cat", r.home+"/.netrc")
	if out != "secret" || len(result.Denials) != 0 {
		r.Errorf("%s %v", out, result.Denials)
	}
	r.profile.Explain = sandbox.ExplainWrites
	if _, result = r.explained("cat", r.home+"/.ssh/id"); len(result.Denials) != 0 {
		r.Errorf("reads were not asked for: %v", result.Denials)
	}
}

// What the record advises for a write works, too.
func TestAdviceIsGood(t *testing.T) {
	explainTiers(t, func(r *room) {
		_, result := r.explained("sh", "-c", "echo x >"+r.outside+"/new")
		if len(result.Denials) != 1 || result.Denials[0].Allow != "--allow-write "+r.outside {
			r.Fatalf("%v", result.Denials)
		}
		r.profile.Write = []string{r.outside}
		_, result = r.explained("sh", "-c", "echo x >"+r.outside+"/new")
		if len(result.Denials) != 0 || !exists(r.outside+"/new") {
			r.Errorf("%v", result.Denials)
		}
	})
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }

// Names of any bytes, and long ones.
func TestNamesOfDenials(t *testing.T) {
	explainTiers(t, func(r *room) {
		odd := "a \xff\n\x1b[31m'\"$(x)"
		long := r.outside + strings.Repeat("/"+strings.Repeat("n", 200), 19)
		check(r, os.MkdirAll(long, 0o755))
		_, result := r.explained("sh", "-c", `echo >"$0/$(printf 'a \377\n\033[31m'\''"$(x)')"`, r.outside)
		if len(result.Denials) != 1 || result.Denials[0].Path != r.outside+"/"+odd {
			r.Errorf("%q", result.Denials)
		}
		_, result = r.explained(self(r), "create", long+"/x")
		if len(result.Denials) != 1 || result.Denials[0].Path != long+"/x" {
			r.Errorf("%d records", len(result.Denials))
		}
		// From a directory whose own path is too long, a name is not known.
		_, result = r.explained("sh", "-c", `cd "$0" && mkdir -p x; for i in 1 2 3; do cd "$1" 2>/dev/null || break; done; echo >f; true`, long, strings.Repeat("m", 250))
		if result.ExitCode != 0 {
			r.Errorf("%+v", result)
		}
	})
}

// Ten thousand at once from many threads: all are counted.
func TestManyDenials(t *testing.T) {
	each := 625
	if testing.Short() { // all fit where they wait to be judged: a slow machine loses none
		each = 60
	}
	explainTiers(t, func(r *room) {
		out, result := r.explained(self(r), "many-creates", r.outside, "16", fmt.Sprint(each))
		total := result.DenialsBeyond
		for _, d := range result.Denials {
			total += d.Count
		}
		if out != "ok" || total != 16*each || len(result.Denials) != 200 {
			r.Errorf("%s: %d denials in %d records", out, total, len(result.Denials))
		}
		if entries, err := os.ReadDir(r.outside); err != nil || len(entries) != 2 {
			r.Errorf("%v %v", entries, err)
		}
	})
}

// Callers that are killed while they are held, and debuggers, do no harm.
func TestKilledCallers(t *testing.T) {
	explainTiers(t, func(r *room) {
		script := `for i in 1 2 3 4 5 6 7 8; do
				(while :; do echo >"$0/x"; echo >y; done) 2>/dev/null & p=$!
				until [ -e y ]; do sleep 0.01; done; sleep 0.05; kill -9 $p; wait $p
			done; exit 7`
		_, result := r.explained("sh", "-c", script, r.outside)
		if result.ExitCode != 7 || len(result.Denials) != 1 {
			r.Errorf("%+v", result)
		}
		// A slow machine has not begun by the first.
		for limit := 300 * time.Millisecond; limit < time.Minute; limit *= 4 {
			if result = r.explainedTimeout(limit); len(result.Denials) > 0 {
				break
			}
		}
		if result.Ending != sandbox.TimedOut || len(result.Denials) != 1 {
			r.Errorf("%+v", result)
		}
	})
}

func (r *room) explainedTimeout(limit time.Duration) sandbox.Result {
	_, result := r.runSupervised(orders{
		Argv:    []string{"sh", "-c", `trap "" TERM; while :; do echo >"$0/x"; done 2>/dev/null`, r.outside},
		Timeout: limit, Grace: 100 * time.Millisecond,
	})
	return result
}

// When the supervisor is killed nobody is left hanging: everything ends, or, in
// the tier that cannot promise that, goes on and fails.
func TestExplainingSupervisorIsKilled(t *testing.T) {
	explainTiers(t, func(r *room) {
		r.profile.Explain = sandbox.ExplainWrites
		name := fmt.Sprintf("sbx-explain-%d", time.Now().UnixNano())
		for i := range 5 {
			cmd, _ := r.supervised(orders{Argv: []string{"sh", "-c", `echo >"$1"; while :; do echo >"$0/x"; done 2>/dev/null`, r.outside, r.workspace + "/up", name}})
			check(r, cmd.Start())
			waitUntil(r, func() bool { return exists(r.workspace + "/up") })
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			check(r, cmd.Process.Kill())
			_ = cmd.Wait()
			waitUntil(r, func() bool { return exec.Command("pgrep", "-f", name).Run() != nil })
			check(r, os.Remove(r.workspace+"/up"))
		}
	})
}

func waitUntil(r *room, holds func() bool) {
	r.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatal("it did not happen")
		}
	}
}

// Many runs of one library at once have their own records.
func TestExplainedRunsAtOnce(t *testing.T) {
	r := newRoom(t, full)
	r.profile.Explain = sandbox.ExplainWrites
	s := r.confined()
	done := make(chan string)
	for i := range 16 {
		go func() {
			name := fmt.Sprintf("%s/of-%d", r.outside, i)
			out, result := r.run(s, "sh", "-c", "for i in 1 2 3; do echo x >"+name+"; done; true")
			if len(result.Denials) != 1 || result.Denials[0].Path != name || result.Denials[0].Count != 3 {
				out += fmt.Sprint(result.Denials)
			} else {
				out = ""
			}
			done <- out
		}()
	}
	for range 16 {
		if wrong := <-done; wrong != "" {
			t.Error(wrong)
		}
	}
	before := descriptors(t)
	for range 20 {
		r.run(s, "sh", "-c", "echo x >"+r.outside+"/x; true")
	}
	if after := descriptors(t); after > before+2 {
		t.Errorf("%d descriptors, then %d", before, after)
	}
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	check(t, err)
	return len(entries)
}

// In the sandbox of a run that is explained there can be no second listener:
// the inner one says so.
func TestExplainedInsideExplained(t *testing.T) {
	r := newRoom(t, full)
	r.profile.Explain = sandbox.ExplainWrites
	inner := *r
	inner.tier = landlock
	inner.profile.Private = sandbox.Private{}
	cmd, file := inner.supervised(orders{Argv: []string{"sh", "-c", "echo x >" + r.outside + "/new; true"}})
	file = filepath.Join(r.workspace, filepath.Base(file))
	r.extra = append(slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "SBX_RESULT_FILE=") }), "SBX_RESULT_FILE="+file)
	out, result := r.run(r.confined(), "env", "-u", "SBX_ACT", self(t))
	got := readResult(t, file, []byte(out))
	if why := gapOf(got, sandbox.DenialsExplained); !strings.Contains(why, "the kernel allows one") || len(got.Denials) != 0 {
		t.Errorf("inside: %q %+v", why, got)
	}
	if len(result.Denials) == 0 { // the outer one hears of it all the same
		t.Errorf("outside: %+v", result)
	}
}

// Where connections cannot be led to a proxy, that is named.
func TestWhereConnectionsAreNotCarried(t *testing.T) {
	r := newRoom(t, landlock)
	r.profile.Network, r.profile.Accept = sandbox.NetworkRules, []sandbox.Control{sandbox.RulesHeld}
	plan, err := r.confined().Plan(sandbox.Command{Argv: []string{"true"}})
	check(t, err)
	if !slices.ContainsFunc(plan.Gaps, func(g sandbox.Gap) bool { return g.Control == sandbox.AllCarried }) || slices.Contains(plan.Enforced, sandbox.AllCarried) {
		t.Errorf("%v %v", plan.Enforced, plan.Gaps)
	}
	f := newRoom(t, full)
	f.profile.Network = sandbox.NetworkRules
	f.profile.Egress = &sandbox.Egress{Proxy: "/none"}
	plan, err = f.confined().Plan(sandbox.Command{Argv: []string{"true"}})
	check(t, err)
	if !slices.Contains(plan.Enforced, sandbox.AllCarried) || !slices.ContainsFunc(plan.Steps, func(s string) bool { return s == "bind the resolver's address" }) {
		t.Errorf("%v %q", plan.Enforced, plan.Steps)
	}
	plan, err = newRoom(t, full).confined().Plan(sandbox.Command{Argv: []string{"true"}})
	check(t, err)
	if slices.ContainsFunc(plan.Steps, func(s string) bool { return strings.Contains(s, "report") || strings.Contains(s, "resolver") }) {
		t.Errorf("network off: %q", plan.Steps)
	}
}

func TestWhereDenialsAreAGap(t *testing.T) {
	for _, tier := range []string{landlock, thread} {
		r := newRoom(t, tier)
		r.profile.Explain = sandbox.ExplainWrites
		if _, result := r.run(r.confined(), "true"); gapOf(result, sandbox.DenialsExplained) == "" || slices.Contains(result.Enforced, sandbox.DenialsExplained) {
			t.Errorf("%s: no gap: %+v", tier, result)
		}
		r.profile.Required = append(sandbox.DefaultRequired(), sandbox.DenialsExplained)
		if _, err := r.backendOpen(); err == nil || !strings.Contains(err.Error(), string(sandbox.DenialsExplained)) {
			t.Errorf("%s: required, and not refused: %v", tier, err)
		}
	}
	r := newRoom(t, full)
	r.profile.Required = append(sandbox.DefaultRequired(), sandbox.DenialsExplained)
	if _, err := r.backendOpen(); err == nil {
		t.Error("required, not asked for, and not refused")
	}
	if _, result := r.run(r.open(none.New()), "true"); gapOf(result, sandbox.DenialsExplained) == "" {
		t.Errorf("none: %+v", result.Gaps)
	}
	// Nobody pays who did not ask.
	r.profile.Required = nil
	plan, err := r.open(direct.New()).Plan(sandbox.Command{Argv: []string{"true"}})
	check(t, err)
	for _, step := range plan.Steps {
		if strings.Contains(step, "report") {
			t.Errorf("step %q", step)
		}
	}
	r.profile.Explain = sandbox.ExplainWrites
	plan, err = r.open(direct.New()).Plan(sandbox.Command{Argv: []string{"true"}})
	check(t, err)
	if !slices.ContainsFunc(plan.Steps, func(s string) bool { return strings.Contains(s, "the filter that reports") }) {
		t.Errorf("the plan does not say: %q", plan.Steps)
	}
}

// Programs that ask for the network without its leave are recorded, those that
// talk to themselves are not.
func TestConnectionsAreRecorded(t *testing.T) {
	r := newRoom(t, full)
	listener, err := net.Listen("tcp4", ownAddress(t)+":0")
	check(t, err)
	defer listener.Close()
	at := listener.Addr().String()
	if got := r.do(r.unconfined(), "dial", "tcp", at); got != "ok" {
		t.Fatalf("control: %s", got)
	}
	out, result := r.explained(self(t), "dial", "tcp", at)
	if out == "ok" || len(result.Denials) != 1 {
		t.Fatalf("%s %v", out, result.Denials)
	}
	d := result.Denials[0]
	if d.Operation != sandbox.DeniedConnect || d.Target() != at || d.Layer != sandbox.LayerNetwork || d.Allow != "--network on" {
		t.Errorf("%+v", d)
	}
	for _, own := range []string{"127.0.0.1:9", "[::1]:9", "[::ffff:127.0.0.1]:9"} {
		if _, result := r.explained(self(t), "dial", "tcp", own); len(result.Denials) != 0 {
			t.Errorf("%s: %v", own, result.Denials)
		}
	}
	r.profile.Network = sandbox.NetworkHost
	if out, result := r.explained(self(t), "dial", "tcp", at); out != "ok" || len(result.Denials) != 0 {
		t.Errorf("network on: %s %v", out, result.Denials)
	}
}

// A child that is given up, because the rules are of other files by now, leaves
// nothing that the next one's records are taken from.
func TestExplainedWithStaleRules(t *testing.T) {
	explainTiers(t, func(r *room) {
		check(r, os.WriteFile(r.home+"/busy0", nil, 0o644))
		done := make(chan struct{})
		var busy sync.WaitGroup
		busy.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				case <-time.After(100 * time.Microsecond):
				}
				_ = os.Rename(fmt.Sprint(r.home, "/busy", i), fmt.Sprint(r.home, "/busy", i+1))
			}
		})
		defer busy.Wait()
		defer close(done)
		for range 5 {
			out, result := r.explained("sh", "-c", "cat $HOME/.profile; echo x >"+r.outside+"/g")
			if !strings.HasPrefix(out, "open") || len(result.Denials) != 1 || result.Denials[0].Path != r.outside+"/g" {
				r.Errorf("%q, %v", out, result.Denials)
			}
		}
	})
}
