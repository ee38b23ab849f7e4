package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

type sample struct{ In, Want string }

func samples(t testing.TB) []sample {
	t.Helper()
	text, err := os.ReadFile("../testdata/redact/shapes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var list []sample
	for line := range strings.Lines(string(text)) {
		var s sample
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		list = append(list, s)
	}
	return list
}

func TestShapes(t *testing.T) {
	for _, s := range samples(t) {
		if got := Text(s.In, nil); got != s.Want {
			t.Errorf("%q:\n got %q\nwant %q", s.In, got, s.Want)
		}
	}
}

const secret = "correct/horse+battery staple"

func TestValues(t *testing.T) {
	for name, in := range map[string]string{
		"as it is":       "x" + secret + "y",
		"hex":            "x" + hex.EncodeToString([]byte(secret)) + "y",
		"upper hex":      "x" + strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"url":            "q=" + url.QueryEscape(secret) + "&",
		"path":           "/" + url.PathEscape(secret) + "/",
		"base64":         base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64, 1":      base64.StdEncoding.EncodeToString([]byte("a" + secret + "zz")),
		"base64, 2":      base64.StdEncoding.EncodeToString([]byte("user:" + secret + "\n")),
		"base64 for url": base64.URLEncoding.EncodeToString([]byte("ab" + secret + "\xff\xfe")),
		"twice":          secret + secret,
	} {
		got := Text(in, []string{"unrelated-secret-value", secret + "\n"})
		if !strings.Contains(got, Removed) {
			t.Errorf("%s: %q stays in %q", name, in, got)
		}
		for _, plain := range []string{secret, "horse", hex.EncodeToString([]byte("horse")), "HORSE"} {
			if strings.Contains(got, plain) {
				t.Errorf("%s: %q is left in %q", name, plain, got)
			}
		}
	}
	if got := Text("short-value", []string{"short-value"}); got != "short-value" {
		t.Errorf("a value of 11 bytes is redacted: %q", got)
	}
	if got := Text("abcdefghijkl-long abcdefghijkl", []string{"abcdefghijkl", "abcdefghijkl-long"}); got != Removed+" "+Removed {
		t.Errorf("the longer one of two: %q", got)
	}
}

// However the output is cut into writes, the result is the same.
func TestChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var whole strings.Builder
	for _, s := range samples(t) {
		whole.WriteString(s.In + "\n" + secret + " " + base64.StdEncoding.EncodeToString([]byte("ab"+secret)) + "\n")
	}
	want := Text(whole.String(), []string{secret})
	for size := 1; size < 70; size++ {
		var b sink
		w := NewWriter(&b, []string{secret})
		for rest := whole.String(); rest != ""; {
			n := min(len(rest), size)
			if size > 60 {
				n = min(len(rest), 1+r.IntN(size))
			}
			if got, err := w.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatal(got, err)
			}
			rest = rest[n:]
		}
		_ = w.Close()
		if string(b) != want {
			t.Fatalf("in pieces of %d:\n%s\nwant\n%s", size, string(b), want)
		}
	}
}

// Also of a value that is longer than any: where it is cut off does not depend on
// how it came.
func TestLongValuesInChunks(t *testing.T) {
	long := strings.Repeat("x", longestText+500)
	for _, text := range []string{"password=" + long + " end\n", "Bearer " + long + " token=abcdefghijk\n", `"password": "` + long + `" end`} {
		want := Text(text, nil)
		if strings.Count(want, "x") >= 600 || !strings.Contains(want, "…") {
			t.Errorf("%.10s: %d bytes stay", text, len(want))
		}
		for _, size := range []int{1, 7, longestText + len("password=") + 1, longestText + 5} {
			var b sink
			w := NewWriter(&b, nil)
			for piece := range slices.Chunk([]byte(text), size) {
				_, _ = w.Write(piece)
			}
			_ = w.Close()
			if string(b) != want {
				t.Errorf("%.10s in pieces of %d: %d bytes, whole: %d", text, size, len(b), len(want))
			}
		}
	}
}

func TestFlush(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   []string // after each piece and a flush
	}{
		{[]string{"Password: ", "\n"}, []string{"Password: ", "Password: \n"}},
		{[]string{"token=", "abcdef123456\n"}, []string{"token=", "token=***\n"}},
		{[]string{"token=abcdef", "123456 x"}, []string{"token=***", "token=*** x"}},
		{[]string{"token=ab", "cdef123456 x"}, []string{"token=ab", "token=ab*** x"}},
		{[]string{"ghp_abcdefghijklmnopqrstuvwxyz", " x"}, []string{"ghp_…wxyz", "ghp_…wxyz x"}},
	} {
		var b sink
		w := NewWriter(&b, nil)
		for i, p := range c.pieces {
			_, _ = w.Write([]byte(p))
			_ = w.Flush()
			if string(b) != c.want[i] {
				t.Errorf("%q: after piece %d %q, want %q", c.pieces, i, string(b), c.want[i])
			}
		}
	}
}

// What is passed on at once: everything but what may be the beginning of something.
func TestPromptsAreNotHeld(t *testing.T) {
	for _, in := range []string{"Continue? [y/N] ", "Password: ", "user@host:~$ ", "done.\n", "50%\r"} {
		var b sink
		w := NewWriter(&b, []string{secret})
		_, _ = w.Write([]byte(in))
		if string(b) != in {
			t.Errorf("%q: only %q came", in, string(b))
		}
	}
}

func TestBinaryIsUntouched(t *testing.T) {
	binary := "\x7fELF\x02\x00password=abcdefghijklmnop " + secret
	if got := Text(binary, []string{secret}); got != binary {
		t.Errorf("%q", got)
	}
	// A NUL later on is no reason to stop.
	text := strings.Repeat("x ", sniffed) + "\x00password=abcdefghijklmnop"
	if got := Text(text, nil); strings.Contains(got, "abcdefghijklmnop") {
		t.Errorf("%q", got)
	}
}

func TestWriterReportsErrors(t *testing.T) {
	w := NewWriter(failing{}, nil)
	_, _ = w.Write([]byte("x\n"))
	if _, err := w.Write([]byte("y\n")); err != os.ErrClosed {
		t.Errorf("error %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// Linear in the length of what it reads, whatever it is.
func TestLinear(t *testing.T) {
	for name, text := range map[string]string{
		"one word":    strings.Repeat("A", 4<<20) + "=x",
		"names":       strings.Repeat("password=", 1<<19),
		"quotes":      strings.Repeat(`"token":"`, 1<<19),
		"addresses":   strings.Repeat("a://b:", 1<<19),
		"bearers":     strings.Repeat("bearer ", 1<<19),
		"long value":  "password=" + strings.Repeat("x", 4<<20),
		"spaces":      "token=" + strings.Repeat(" ", 4<<20),
		"near misses": strings.Repeat(secret[:len(secret)-1], 1<<17),
	} {
		began := time.Now()
		var b sink
		w := NewWriter(&b, []string{secret})
		for rest := []byte(text); len(rest) > 0; {
			n := min(len(rest), 100)
			_, _ = w.Write(rest[:n])
			rest = rest[n:]
		}
		_ = w.Close()
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: %v for %d bytes", name, took, len(text))
		}
		if w.Hits() == 0 && len(b) != len(text) {
			t.Errorf("%s: %d bytes became %d", name, len(text), len(b))
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.In, uint16(3))
	}
	f.Add("x"+secret+"\x00", uint16(5))
	f.Fuzz(func(t *testing.T, in string, size uint16) {
		whole := Text(in, []string{secret})
		var b sink
		w := NewWriter(&b, []string{secret})
		step := int(size%97) + 1
		for rest := in; rest != ""; {
			n := min(len(rest), step)
			_, _ = w.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		_ = w.Close()
		if in := in[:min(len(in), sniffed)]; strings.IndexByte(in, 0) < 0 {
			if string(b) != whole {
				t.Errorf("in pieces of %d: %q, whole: %q", step, string(b), whole)
			}
			if strings.Contains(whole, secret) {
				t.Errorf("the secret stays in %q", whole)
			}
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	log := bytes.Repeat([]byte("2026-11-30T08:00:00Z INFO  handler=/v1/items status=200 took=12.5ms request_id=4f9c1d2e user=ann\n"+
		"\tat com.example.Service.run(Service.java:120) [app.jar:1.2.3]\n  \"name\": \"left-pad\", \"version\": \"1.3.0\",\n"), 400)
	secrets := []string{secret, "another-secret-value-1234", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "postgres://u:p@h/db?x=1"}
	w := NewWriter(discard{}, secrets)
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		_, _ = w.Write(log)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
