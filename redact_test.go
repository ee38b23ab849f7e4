//go:build unix

package sbx_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/secretsenv"
)

const (
	vaultText = "correct-horse-battery" // no token by its shape
	tokenText = "ghp_a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ"
)

// scrubbing runs a command on backend none, which passes on what it is given.
func scrubbing(t *testing.T, o sbx.Options, req sbx.Request) sbx.Result {
	t.Helper()
	o.Backend, o.Workspace = "none", t.TempDir()
	o.Required = []sandbox.Control{}
	o.AcceptGaps = sandbox.Controls()
	o.Environ = append(os.Environ(), "MY_VAULT="+vaultText, "PLAIN=harmless-but-long-value")
	o.Secrets.Vault = []string{"MY_VAULT"}
	e, err := sbx.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	result, err := e.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestCapturedOutputLosesCredentials(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("x:" + vaultText))
	script := `echo "is ` + vaultText + `, $PLAIN"; echo ` + encoded + ` >&2; printf '%s' correct-horse; echo -battery; echo API_TOKEN=` + tokenText
	var out, diag bytes.Buffer
	result := scrubbing(t, sbx.Options{}, sbx.Request{Text: script, Stdout: &out, Stderr: &diag})
	if got := out.String(); strings.Contains(got, vaultText) || strings.Contains(got, tokenText) || !strings.Contains(got, "harmless-but-long-value") || strings.Count(got, "«redacted secret»") != 2 {
		t.Errorf("stdout %q", got)
	}
	if strings.Contains(diag.String(), encoded) {
		t.Errorf("stderr %q", diag.String())
	}
	if result.Redacted != 4 {
		t.Errorf("%d places, want 4", result.Redacted)
	}
}

func TestRedactModes(t *testing.T) {
	script := "echo " + vaultText + "; echo " + tokenText
	run := func(o sbx.Options) (string, sbx.Result) {
		var out bytes.Buffer
		result := scrubbing(t, o, sbx.Request{Text: script, Stdout: &out})
		return out.String(), result
	}
	if got, result := run(sbx.Options{Redact: sbx.RedactNone}); got != vaultText+"\n"+tokenText+"\n" || result.Redacted != 0 {
		t.Errorf("none: %q, %d", got, result.Redacted)
	}
	if got, result := run(sbx.Options{RedactValuesOnly: true}); strings.Contains(got, vaultText) || !strings.Contains(got, tokenText) || result.Redacted != 1 {
		t.Errorf("values only: %q, %d", got, result.Redacted)
	}
	resolver := secretsenv.NewResolver(nil, nil)
	if _, err := resolver.Resolve(t.Context(), "exec:echo from-the-resolver"); err != nil {
		t.Fatal(err)
	}
	script = "echo from-the-resolver; echo of-the-request-itself"
	var out bytes.Buffer
	scrubbing(t, sbx.Options{Resolver: resolver}, sbx.Request{Text: script, Stdout: &out, Env: []string{"DB_PASSWORD=of-the-request-itself"}})
	if got := out.String(); strings.Contains(got, "resolver") || strings.Contains(got, "itself") {
		t.Errorf("resolver and request: %q", got)
	}
}

// A file is handed over as it is, unless it was asked that it is not.
func TestRedactFiles(t *testing.T) {
	for _, mode := range []sbx.Redact{sbx.RedactCaptured, sbx.RedactAll} {
		f, err := os.Create(t.TempDir() + "/out")
		if err != nil {
			t.Fatal(err)
		}
		scrubbing(t, sbx.Options{Redact: mode}, sbx.Request{Text: "echo " + vaultText + "; echo plain >&2", Stdout: f, Stderr: f})
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("open"); err != nil {
			t.Errorf("the caller's file was closed: %v", err)
		}
		f.Close()
		if got := strings.Contains(string(text), vaultText); got != (mode == sbx.RedactCaptured) || !strings.Contains(string(text), "plain") {
			t.Errorf("mode %v: %q", mode, text)
		}
	}
}

// Of a file that nobody reads the command learns as if it had it itself.
func TestRedactUnreadFile(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer write.Close()
	result := scrubbing(t, sbx.Options{Redact: sbx.RedactAll}, sbx.Request{Text: "exec yes", Stdout: write})
	if result.Signal != int(syscall.SIGPIPE) || result.Error != "" {
		t.Errorf("ended by %q %d: %s", result.Ending, result.Signal, result.Error)
	}
}

// arrivals notes what was written and when.
type arrivals struct{ in chan string }

func (a arrivals) Write(p []byte) (int, error) { a.in <- string(p); return len(p), nil }

// A question that waits for an answer is seen, although it may be the beginning
// of a secret.
func TestRedactPassesOnQuestions(t *testing.T) {
	in, answer := io.Pipe()
	seen := arrivals{make(chan string, 8)}
	done := make(chan sbx.Result, 1)
	go func() {
		done <- scrubbing(t, sbx.Options{}, sbx.Request{Text: "printf 'go on? correct-'; read -r a; echo got $a", Stdin: in, Stdout: seen})
	}()
	text := ""
	for deadline := time.After(20 * time.Second); !strings.HasSuffix(text, "correct-"); {
		select {
		case more := <-seen.in:
			text += more
		case <-deadline:
			t.Fatalf("the question did not come: %q", text)
		}
	}
	if _, err := io.WriteString(answer, "yes\n"); err != nil {
		t.Error(err)
	}
	answer.Close()
	if result := <-done; result.ExitCode != 0 {
		t.Errorf("%+v", result)
	}
	for len(seen.in) > 0 {
		text += <-seen.in
	}
	if !strings.HasSuffix(text, "got yes\n") {
		t.Errorf("%q", text)
	}
}
