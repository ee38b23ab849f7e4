package direct_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

// Real work, confined: a control that breaks programs will be switched off.
func TestRealWork(t *testing.T) { eachTier(t, testRealWork) }

func testRealWork(r *room) {
	t := r.T
	if testing.Short() {
		t.Skip("takes a while")
	}
	tests := []struct{ name, needs, script string }{
		{"git", "git", `git init -q g && cd g && git config user.email a@example.test && git config user.name a && echo hi > f && git add . &&
			git commit -qm m && git status && git gc -q && git clone -q . ../g2`},
		{"make and gcc", "gcc", `printf '#include <stdio.h>\nint main(){puts("hi");}\n' > hi.c; printf 'hi: hi.c\n\tgcc -o hi hi.c\n' > Makefile; make -s -j2 && ./hi`},
		{"go", "go", `mkdir p && cd p && printf 'module x\ngo 1.20\n' > go.mod && printf 'package main\nfunc main(){println(1)}\n' > main.go && go list ./... &&
			printf 'package main\nimport "testing"\nfunc TestA(t *testing.T){ _ = t.TempDir() }\n' > a_test.go &&
			if [ -d "$SBX_GOCACHE" ]; then export GOCACHE=$SBX_GOCACHE; go build -o x . && ./x && go test ./...; fi`},
		{"python", "/usr/bin/python3", `/usr/bin/python3 -c '
import multiprocessing, os, pty, pwd, sqlite3, subprocess, tempfile
from multiprocessing import shared_memory
if __name__ == "__main__":
  assert multiprocessing.Pool(2).map(abs, [-1, 2]) == [1, 2]
  s = shared_memory.SharedMemory(create=True, size=100); s.close(); s.unlink()
  a, b = os.openpty(); os.write(b, b"x"); assert os.read(a, 1) == b"x"
  c = sqlite3.connect("t.db"); c.execute("pragma journal_mode=wal"); c.execute("create table a(x)"); c.commit(); c.close()
  subprocess.run(["true"], check=True); tempfile.TemporaryFile().write(b"x"); pwd.getpwuid(0)
' && /usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'import unittest'`},
		{"node", "node", `node -e 'const c=require("child_process"); c.execSync("true"); const {Worker}=require("worker_threads"); new Worker("process.exit(0)",{eval:true})'`},
		{"npm", "npm", `mkdir -p n/lib && cd n && echo '{"name":"lib","version":"1.0.0"}' > lib/package.json &&
			echo '{"name":"n","version":"1.0.0","scripts":{"test":"node -e 1"},"dependencies":{"lib":"file:lib"}}' > package.json &&
			npm install --offline --no-audit --no-fund && npm ci --offline --no-audit --no-fund && npm test`},
		{"java", "java", `printf 'public class A { public static void main(String[] a) throws Exception { new ProcessBuilder("true").start().waitFor(); } }' > A.java && java A.java`},
		{"files", "tar", `mkdir -p t/d && echo 1 > t/d/f && tar czf t.tgz t && rm -r t && tar xzf t.tgz && cp -a t t2 && mv t2/d t/d2 && flock l true`},
		{"cp -a", "cp", `cp -a /usr/share/zoneinfo z 2>/dev/null || cp -a /usr/include z`},
		{"script", "script", `script -qec 'tty; echo hi' /dev/null`},
		{"strace", "strace", `strace -f -o log sh -c 'true; ls > /dev/null' && grep -q exec log`},
		{"gdb", "gdb", `gdb -batch -ex run --args true`},
	}
	// A cold cache would compile the standard library for a minute.
	if out, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil && os.Geteuid() == 0 {
		cache := strings.TrimSpace(string(out))
		if _, err := os.Stat(cache); err == nil {
			r.profile.Write = []string{cache}
			r.extra = []string{"SBX_GOCACHE=" + cache}
		}
	}
	check(t, os.WriteFile(r.home+"/.npmrc", []byte("//registry.npmjs.org/:_authToken=secret"), 0o644))
	check(t, os.WriteFile(r.home+"/.git-credentials", []byte("https://a:b@example.test"), 0o644))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := exec.LookPath(tt.needs); err != nil {
				t.Skip(err)
			}
			r.reset()
			before := r.outsideState()
			out, got := r.run(r.confined(), "bash", "-c", "cd "+r.workspace+" && "+tt.script)
			if got.Ending != sandbox.Exited || got.ExitCode != 0 {
				t.Errorf("%s %d\n%s", got.Ending, got.ExitCode, strings.TrimSpace(out))
			}
			if r.outsideState() != before {
				t.Error("the outside changed")
			}
		})
	}
}
