//go:build unix

package secretsenv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const secretText = "sk-from-the-vault"

func resolver(t *testing.T) (*Resolver, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"key": secretText + "\n", "empty": " \n", "long": strings.Repeat("x", secretBytes+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	return NewResolver([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "KEY=v1", "KEY=v2", "EMPTY=", "TOKEN=service-account-token", "OTHER=x",
	}, []string{"TOKEN", "ABSENT"}), dir
}

func TestResolve(t *testing.T) {
	r, dir := resolver(t)
	for setting, want := range map[string]string{
		"plain":                            "plain",
		"":                                 "",
		"${KEY}":                           "v2",
		"${EMPTY}":                         "",
		"a ${KEY}-${ABSENT}.":              "a v2-.",
		"${key}":                           "${key}",
		"${KEY":                            "${KEY",
		"${KEY}${KEY}":                     "v2v2",
		"$KEY":                             "$KEY",
		"exec:printf 'sk-from-the-vault'":  secretText,
		`exec:printf "$TOKEN/$OTHER"`:      "service-account-token/",
		"exec:echo ' padded '":             "padded",
		"exec:printf a; sleep 30 & exit 0": "a",
		"file:" + dir + "/key":             secretText,
		"file:~/key":                       secretText,
	} {
		if got, err := r.Resolve(t.Context(), setting); err != nil || got != want {
			t.Errorf("Resolve(%q) = %q, %v, want %q", setting, got, err, want)
		}
	}
	for setting, why := range map[string]string{
		"${ABSENT}":                           "not set",
		"exec:exit 1":                         "exit status 1",
		"exec:printf 'half a sec'; exit 3":    "exit status 3",
		"exec:printf x; kill -9 $$":           "signal: killed",
		"exec:":                               "no command",
		"exec:true":                           "nothing",
		"exec:printf ' \\n'":                  "nothing",
		"exec:head -c 70000 /dev/zero":        "more than 64 KiB",
		"file:" + dir + "/absent":             "no such file",
		"file:" + dir + "/empty":              "empty",
		"file:" + dir + "/long":               "longer than 64 KiB",
		"file:" + dir + "/fifo":               "no regular file",
		"file:" + dir:                         "no regular file",
		"file:key":                            "not absolute",
		"exec:printf secret-words >&2; false": "exit status 1",
	} {
		got, err := r.Resolve(t.Context(), setting)
		var unset *UnsetError
		if got != "" || !errors.As(err, &unset) || !strings.Contains(unset.Why, why) {
			t.Errorf("Resolve(%q) = %.40q, %v, want no value because of %q", setting, got, err, why)
		}
	}
}

// A vault is asked once a minute when it answers, and each time when it does not.
func TestResolveRemembersSuccessOnly(t *testing.T) {
	r, dir := resolver(t)
	count := "exec:echo x >>" + dir + "/calls; cat " + dir + "/value"
	calls := func() int {
		text, _ := os.ReadFile(dir + "/calls")
		return len(text) / 2
	}
	for range 2 {
		if v, err := r.Resolve(t.Context(), count); err == nil {
			t.Fatalf("the file is absent, and there was %q", v)
		}
	}
	if calls() != 2 {
		t.Errorf("a failure was remembered: %d calls", calls())
	}
	if err := os.WriteFile(dir+"/value", []byte(secretText), 0o600); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if v, err := r.Resolve(t.Context(), count); v != secretText || err != nil {
				t.Errorf("%q, %v", v, err)
			}
		})
	}
	group.Wait()
	if calls() != 3 {
		t.Errorf("8 callers at once made %d calls", calls()-2)
	}
	if list := r.Values(); len(list) != 1 || list[0] != secretText {
		t.Errorf("values %q", list)
	}
	r.Flush()
	if _, err := r.Resolve(t.Context(), count); err != nil || calls() != 4 || len(r.Values()) != 1 {
		t.Errorf("after Flush: %v, %d calls", err, calls())
	}
}

// What a command left running does not outlive the caller's patience.
func TestResolveEndsWithItsContext(t *testing.T) {
	r, dir := resolver(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := r.Resolve(ctx, "exec:(sleep 60; echo late >"+dir+"/late) & echo $! >"+dir+"/pid; wait")
	if err == nil {
		t.Error("no error after the time")
	}
	text, err := os.ReadFile(dir + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	pid := "/proc/" + strings.TrimSpace(string(text))
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s still runs", pid)
		}
	}
}

func TestCheck(t *testing.T) {
	r, _ := resolver(t)
	for setting, why := range map[string]string{
		"plain": "", "${KEY}": "", "a ${KEY}": "", "exec:echo x": "", "exec:false": "exit status 1",
		"${ABSENT}": "not set", "a ${KEY} ${ABSENT}": "ABSENT is not set",
	} {
		err := r.Check(t.Context(), setting)
		if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("Check(%q) = %v, want %q", setting, err, why)
		}
	}
}

func TestReferenceForms(t *testing.T) {
	for setting, want := range map[string][2]bool{
		"${A}": {true, true}, "exec:x": {true, true}, "file:/x": {true, true}, "x${A}": {false, true},
		"${a}": {false, false}, "x": {false, false}, "${A": {false, false},
	} {
		if IsReference(setting) != want[0] || HasReference(setting) != want[1] {
			t.Errorf("%q: %t, %t", setting, IsReference(setting), HasReference(setting))
		}
	}
}
