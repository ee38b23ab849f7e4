package sbx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func TestSessionsAreShared(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	ws, other := t.TempDir(), t.TempDir()
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			dir := ws
			if i%2 == 1 {
				dir = other
			}
			if r, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: dir}); err != nil || r.ExitCode != 7 {
				t.Errorf("run: %v, %v", r, err)
			}
		})
	}
	wait.Wait()
	if len(b.opened) != 2 || len(b.ran) != 40 || b.closed != 0 {
		t.Errorf("%d sessions opened, %d runs, %d closed; want 2, 40, 0", len(b.opened), len(b.ran), b.closed)
	}
	must(t, e.Close())
	if b.closed != 2 {
		t.Errorf("%d sessions closed, want 2", b.closed)
	}
	if _, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws}); !errors.Is(err, sandbox.ErrStart) {
		t.Errorf("run after Close: %v", err)
	}
}

// A directory of the same name that was made anew is another directory: what a
// backend holds open is not it.
func TestSessionOfReplacedWorkspace(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	ws := filepath.Join(t.TempDir(), "ws")
	for range 2 {
		must(t, os.Mkdir(ws, 0o755))
		keep := filepath.Join(filepath.Dir(ws), fmt.Sprint("keep", len(b.opened)))
		_, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
		must(t, err, os.Rename(ws, keep)) // kept, so that its inode is not used again
	}
	if len(b.opened) != 2 {
		t.Errorf("%d sessions opened, want 2", len(b.opened))
	}
}

// A workspace that turned into a link to elsewhere is judged again.
func TestWorkspaceSwappedForLink(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	ws := filepath.Join(t.TempDir(), "ws")
	must(t, os.Mkdir(ws, 0o755))
	run := func() error {
		_, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
		return err
	}
	must(t, run(), os.Remove(ws), os.Symlink("/", ws))
	var refused *WorkspaceError
	if err := run(); !errors.As(err, &refused) {
		t.Errorf("run in a link to /: %v", err)
	}
	if len(b.ran) != 1 {
		t.Errorf("%d runs, want 1", len(b.ran))
	}
}

func TestFailedOpenIsTriedAgain(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	ws := t.TempDir()
	b.fail = sandbox.ErrUnavailable
	r, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
	if !errors.Is(err, sandbox.ErrUnavailable) || r.Ending != sandbox.NotStarted || r.ExitCode != 125 {
		t.Errorf("%+v, %v", r, err)
	}
	b.fail = nil
	_, err = e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
	must(t, err)
}

func TestSessionsAreBounded(t *testing.T) {
	e, b := fakeEngine(t, Options{})
	base := t.TempDir()
	for i := range maxSessions + 5 {
		ws := filepath.Join(base, fmt.Sprint(i))
		must(t, os.Mkdir(ws, 0o755))
		_, err := e.Run(context.Background(), Request{Argv: []string{"true"}, Workspace: ws})
		must(t, err)
	}
	if b.closed != 5 {
		t.Errorf("%d idle sessions closed, want 5", b.closed)
	}
}

// Every field of a profile counts: two that differ must not share a session.
func TestSessionKey(t *testing.T) {
	at := t.TempDir()
	key := func(p sandbox.Profile) string {
		text, err := sessionKey("b", &p)
		must(t, err)
		return text
	}
	seen := map[string]string{key(sandbox.Profile{}): "nothing"}
	fields := reflect.TypeFor[sandbox.Profile]()
	for i := range fields.NumField() {
		for n, v := range others(t, fields.Field(i).Type, at) {
			var p sandbox.Profile
			reflect.ValueOf(&p).Elem().Field(i).Set(v)
			name := fmt.Sprint(fields.Field(i).Name, " ", n)
			if same, ok := seen[key(p)]; ok {
				t.Errorf("a profile with %s has the key of one with %s", name, same)
			}
			seen[key(p)] = name
		}
	}
	if a, b := key(sandbox.Profile{Write: []string{"/a", "/b"}}), key(sandbox.Profile{Write: []string{"/a /b"}}); a == b {
		t.Error("two paths have the key of one with a space in it")
	}
}

// others gives values of a type that are not its zero value, each with another
// field set where it has some.
func others(t *testing.T, of reflect.Type, path string) []reflect.Value {
	one := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.String:
		one.SetString(path)
	case reflect.Bool:
		one.SetBool(true)
	case reflect.Int, reflect.Int64:
		one.SetInt(7)
	case reflect.Uint8, reflect.Uint32:
		one.SetUint(7)
	case reflect.Float64:
		one.SetFloat(7)
	case reflect.Slice:
		full := reflect.MakeSlice(of, 1, 1)
		full.Index(0).Set(others(t, of.Elem(), path)[0])
		return []reflect.Value{reflect.MakeSlice(of, 0, 0), full}
	case reflect.Pointer:
		list := []reflect.Value{reflect.New(of.Elem())}
		for _, v := range others(t, of.Elem(), path) {
			p := reflect.New(of.Elem())
			p.Elem().Set(v)
			list = append(list, p)
		}
		return list
	case reflect.Struct:
		var list []reflect.Value
		for i := range of.NumField() {
			if of.Field(i).Tag.Get("json") == "-" {
				continue // says of itself that it does not count
			}
			for _, v := range others(t, of.Field(i).Type, path) {
				s := reflect.New(of).Elem()
				s.Field(i).Set(v)
				list = append(list, s)
			}
		}
		return list
	default:
		t.Fatalf("a field of kind %v", of.Kind())
	}
	return []reflect.Value{one}
}
