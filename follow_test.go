package sbx

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbx-run/sbx/shell"
)

// workspaceWith makes a workspace of files: a name that ends in / is a
// directory, a text that begins with -> a link. All files are executable.
func workspaceWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, link := strings.CutPrefix(text, "->"); err == nil && link {
			err = os.Symlink(target, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func followed(dir, command string) Report {
	where := shell.Where{Cwd: dir, Workspace: dir, Home: "/home/ann"}
	return Check(Request{Text: command}, where).Follow(dir)
}

// read lists the scripts that were read, relative to dir, in their order.
func read(r Report, dir string) string {
	var names []string
	for _, path := range r.followed(nil) {
		rel, _ := filepath.Rel(dir, path)
		names = append(names, rel)
	}
	return strings.Join(names, " ")
}

func TestFollow(t *testing.T) {
	other := workspaceWith(t, map[string]string{"out.sh": "rm -rf /"})
	dir := workspaceWith(t, map[string]string{
		"x.sh":        "rm -rf build\n",
		"bash.sh":     "#!/bin/bash\nrm a\n",
		"env.sh":      "#!/usr/bin/env -S bash -e\nrm a\n",
		"p.py":        "#!/usr/bin/env python3\nimport os\n",
		"named.py":    "rm a\n",
		"sub/y.sh":    "#!/bin/sh\nrm a\n",
		"calls.sh":    "cd sub && sh ./y.sh\n",
		"lib":         "D=build\n",
		"link.sh":     "->x.sh",
		"away.sh":     "->" + filepath.Join(other, "out.sh"),
		"absolute.sh": "->" + filepath.Join(other, "none"),
	})
	for _, tc := range []struct{ command, read, tags string }{
		{"bash x.sh", "x.sh", "deletes"},
		{"sh -eu x.sh", "x.sh", "deletes"},
		{"sh " + dir + "/x.sh", "x.sh", "deletes"},
		{"./x.sh", "x.sh", "deletes"},
		{"./bash.sh", "bash.sh", "deletes"},
		{"./env.sh", "env.sh", "deletes"},
		{"sub/y.sh", "sub/y.sh", "deletes"},
		{"cd sub && ./y.sh", "sub/y.sh", "deletes"},
		{"timeout 5 nice ./x.sh", "x.sh", "deletes"},
		{"sudo ./x.sh", "x.sh", "deletes,elevated"},
		{"bash -c './x.sh'", "x.sh", "deletes"},
		{"source x.sh", "x.sh", "deletes"},
		{". ./x.sh", "x.sh", "deletes"},
		{"./link.sh", "x.sh", "deletes"},
		{"sh calls.sh", "calls.sh sub/y.sh", "deletes"},
		{"./x.sh; ./x.sh", "x.sh", "deletes"},
		{"source lib", "lib", "none"},
		// No shell reads these.
		{"./p.py", "", "none"},
		{"python3 named.py", "", "none"},
		{"cat x.sh", "", "none"},
		{"x.sh", "", "none"},
		{"./missing.sh", "", "none"},
		{"./sub", "", "none"},
		{`"$X"/x.sh`, "", "unknown"},
		// Outside, also by a link.
		{"./away.sh", "", "none"},
		{"./absolute.sh", "", "none"},
	} {
		r := followed(dir, tc.command)
		if got := read(r, dir); got != tc.read || r.Tags.String() != tc.tags {
			t.Errorf("%s: read %q, tags %s; want %q, %s", tc.command, got, r.Tags, tc.read, tc.tags)
		}
	}
	if r := followed(dir, "sh "+other+"/out.sh"); r.Blocked() || len(r.Followed) > 0 {
		t.Error("a script outside the workspace was read")
	}
	// Without Follow nothing is read.
	if r := Check(Request{Text: "./x.sh"}, shell.Where{Cwd: dir}); r.Tags != 0 || len(r.Followed) > 0 {
		t.Errorf("Check looked at a file: %v", r.Tags)
	}
}

// What a script does depends on what it is called with.
func TestFollowArguments(t *testing.T) {
	dir := workspaceWith(t, map[string]string{"x.sh": "# one\nrm -rf \"$1\"\n", "all.sh": "rm -rf \"$@\"\n", "in.sh": "sh x.sh \"$2\"\n"})
	for command, path := range map[string]string{
		"sh x.sh /":                "x.sh",
		"sh x.sh build; sh x.sh /": "x.sh",
		"./all.sh build /usr":      "all.sh",
		"sh in.sh a /":             "x.sh",
		"sh x.sh build":            "",
		"./all.sh a b":             "",
		"sh in.sh / a":             "",
	} {
		refusals := followed(dir, command).Refusals()
		if path == "" {
			if len(refusals) > 0 {
				t.Errorf("%s: refused: %v", command, refusals)
			}
			continue
		}
		if len(refusals) != 1 || refusals[0].Path != filepath.Join(dir, path) {
			t.Errorf("%s: %v, want one refusal in %s", command, refusals, path)
		}
	}
}

func TestFollowEnds(t *testing.T) {
	files := map[string]string{
		"cycle.sh": "sh other.sh\n",
		"other.sh": "rm a; sh cycle.sh\n",
		"grow.sh":  "sh grow.sh \"$1$1\"\n",
		"deep4.sh": "rm a\n",
		"deep5.sh": "curl https://example.test\n",
		"big.sh":   strings.Repeat("# nothing\n", maxScriptBytes/10) + "rm -rf /\n",
		"binary":   "\x7fELF\x02\x01\x01\x00rm -rf /",
		"empty":    "",
	}
	for i := 1; i < 5; i++ {
		files[fmt.Sprintf("deep%d.sh", i)] += fmt.Sprintf("sh deep%d.sh\n", i+1)
	}
	var all strings.Builder
	for i := range maxFollowFiles + 8 {
		name := fmt.Sprintf("n%02d.sh", i)
		files[name] = "rm a\n"
		all.WriteString("./" + name + "; ")
	}
	for i := range 4 {
		files[fmt.Sprintf("half%d.sh", i)] = strings.Repeat("# nothing\n", maxScriptBytes/10-2)
	}
	dir := workspaceWith(t, files)
	for command, want := range map[string]string{
		"sh cycle.sh":                           "cycle.sh other.sh",
		"sh grow.sh a":                          "grow.sh",
		"sh deep1.sh":                           "deep1.sh deep2.sh deep3.sh deep4.sh",
		"sh big.sh":                             "",
		"./binary":                              "",
		"sh binary":                             "",
		"sh empty":                              "",
		"sh half0.sh; sh half1.sh; sh half2.sh": "half0.sh half1.sh",
	} {
		if got := read(followed(dir, command), dir); got != want {
			t.Errorf("%s: read %q, want %q", command, got, want)
		}
	}
	if r := followed(dir, "sh deep1.sh"); r.Tags.String() != "deletes" {
		t.Errorf("five scripts deep: %s", r.Tags)
	}
	if r := followed(dir, "sh big.sh"); len(r.Followed) != 1 || r.Followed[0].Skipped == "" {
		t.Errorf("a script that is too large is passed over in silence: %+v", r.Followed)
	}
	r := followed(dir, all.String())
	if n := len(r.followed(nil)); n != maxFollowFiles {
		t.Errorf("%d scripts read, want %d", n, maxFollowFiles)
	}
}

func TestFollowJSON(t *testing.T) {
	dir := workspaceWith(t, map[string]string{"x.sh": "true\nrm -rf /\n"})
	out, err := json.Marshal(followed(dir, "ls; sh x.sh"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tags     []string
		Guard    string
		Findings []any
		Followed []struct {
			Path       string
			Call       int
			Text       string
			Guard      string
			Violations []struct{ At struct{ Line int } }
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Guard != "block" || len(got.Findings) != 0 || !slices.Contains(got.Tags, "deletes") || len(got.Followed) != 1 {
		t.Fatalf("%s", out)
	}
	f := got.Followed[0]
	if f.Path != dir+"/x.sh" || f.Call != 1 || f.Guard != "block" || f.Text == "" || len(f.Violations) != 1 || f.Violations[0].At.Line != 2 {
		t.Errorf("%s", out)
	}
}

// The engine refuses what a script of the workspace does, and says where.
func TestRunFollows(t *testing.T) {
	dir := workspaceWith(t, map[string]string{"x.sh": "true\nrm -rf /\n", "fine.sh": "rm -rf build\n"})
	for _, req := range []Request{
		{Text: "echo a; ./x.sh", Workspace: dir},
		{Argv: []string{"bash", "x.sh"}, Workspace: dir},
		{Argv: []string{dir + "/x.sh"}, Workspace: dir},
	} {
		r, b, err := runFake(t, Options{}, req)
		var denied *DeniedError
		if !errors.As(err, &denied) || len(b.ran) > 0 || !strings.Contains(err.Error(), dir+"/x.sh:2: ") {
			t.Errorf("%v: %v", req, err)
			continue
		}
		if r.Guard != "block" || len(r.Violations) != 1 || r.Violations[0].Path != dir+"/x.sh" || !slices.Equal(r.Followed, []string{dir + "/x.sh"}) {
			t.Errorf("%v: %+v", req, r)
		}
	}
	e, b := fakeEngine(t, Options{})
	r, err := e.Run(context.Background(), Request{Text: "./fine.sh", Workspace: dir})
	if err != nil || len(b.ran) != 1 || !slices.Equal(r.Tags, []string{"deletes"}) || r.Findings != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
