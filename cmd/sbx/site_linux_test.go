package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
)

// site is a web server with the repositories that clients fetch from.
func (w *world) site(dir string) http.Handler {
	w.makeRepository(dir)
	hosts := map[string]http.Handler{"git.test": w.gitHost(), "npm.test": npmHost(), "pypi.test": pypiHost(), "goproxy.test": goHost()}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
		if h := hosts[host]; h != nil {
			h.ServeHTTP(rw, r)
			return
		}
		switch r.URL.Path {
		case "/echo":
			_, _ = io.Copy(rw, r.Body)
		case "/to-evil":
			http.Redirect(rw, r, "http://evil.test/", http.StatusFound)
		case "/to-meta":
			http.Redirect(rw, r, "http://169.254.169.254/", http.StatusFound)
		default:
			fmt.Fprintln(rw, "hello")
		}
	})
}

func (w *world) makeRepository(dir string) {
	script := `set -e
mkdir -p "$1/work" "$1/git" && cd "$1/work" && git init -q -b main . && echo 'from git' >README && git add README
git -c user.name=a -c user.email=a@b.test commit -qm one
git clone -q --bare . "$1/git/repo.git"`
	if out, err := exec.Command("bash", "-c", script, "bash", dir).CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
}

func (w *world) gitHost() http.Handler {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + w.git, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
}

// npmHost is a registry with one package.
func npmHost() http.Handler {
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	t := tar.NewWriter(z)
	for name, text := range map[string]string{
		"package/package.json": `{"name":"greet","version":"1.0.0","main":"index.js"}`,
		"package/index.js":     `module.exports = "from npm"`,
	} {
		_ = t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
		_, _ = io.WriteString(t, text)
	}
	_ = t.Close()
	_ = z.Close()
	sum := sha1.Sum(archive.Bytes())
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/greet":
			_ = json.NewEncoder(rw).Encode(map[string]any{
				"name": "greet", "dist-tags": map[string]string{"latest": "1.0.0"},
				"versions": map[string]any{"1.0.0": map[string]any{
					"name": "greet", "version": "1.0.0",
					"dist": map[string]string{"tarball": "http://npm.test/greet-1.0.0.tgz", "shasum": hex.EncodeToString(sum[:])},
				}},
			})
		case "/greet-1.0.0.tgz":
			_, _ = rw.Write(archive.Bytes())
		default:
			http.NotFound(rw, r)
		}
	})
}

func zipped(files map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		f, _ := z.Create(name)
		_, _ = io.WriteString(f, text)
	}
	_ = z.Close()
	return b.Bytes()
}

// pypiHost is a package index with one package (PEP 503, PEP 427).
func pypiHost() http.Handler {
	wheel := zipped(map[string]string{
		"greet.py":                     `text = "from pypi"`,
		"greet-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n",
		"greet-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"greet-1.0.dist-info/RECORD":   "greet.py,,\ngreet-1.0.dist-info/METADATA,,\ngreet-1.0.dist-info/WHEEL,,\ngreet-1.0.dist-info/RECORD,,\n",
	})
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/simple/greet/":
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprint(rw, `<!DOCTYPE html><a href="/greet-1.0-py3-none-any.whl">greet-1.0-py3-none-any.whl</a>`)
		case "/greet-1.0-py3-none-any.whl":
			_, _ = rw.Write(wheel)
		default:
			http.NotFound(rw, r)
		}
	})
}

// goHost is a module proxy with one module (go.dev/ref/mod).
func goHost() http.Handler {
	const at = "/example.test/greet/@v/v1.0.0"
	module := zipped(map[string]string{
		"example.test/greet@v1.0.0/go.mod":   "module example.test/greet\n",
		"example.test/greet@v1.0.0/greet.go": "package greet\n\nconst Text = \"from goproxy\"\n",
	})
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case at + ".info":
			fmt.Fprint(rw, `{"Version":"v1.0.0","Time":"2020-01-01T00:00:00Z"}`)
		case at + ".mod":
			fmt.Fprint(rw, "module example.test/greet\n")
		case at + ".zip":
			_, _ = rw.Write(module)
		default:
			http.NotFound(rw, r)
		}
	})
}
