package sbx_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/shell"
)

// exampleWorkspace makes a directory for a command to work in, with another
// one beside it.
func exampleWorkspace() (workspace string, remove func()) {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	workspace = filepath.Join(dir, "app")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		panic(err)
	}
	return workspace, func() { os.RemoveAll(dir) }
}

// The shell tool of an agent: the model gets the output, or why there is none.
func Example_shellTool() {
	workspace, remove := exampleWorkspace()
	defer remove()
	engine, err := sbx.New(sbx.Options{Workspace: workspace})
	if err != nil {
		panic(err)
	}
	defer engine.Close()

	tool := func(ctx context.Context, command string) string {
		var out bytes.Buffer
		result, err := engine.Run(ctx, sbx.Request{Text: command, Stdout: &out, Stderr: &out, Timeout: time.Minute})
		if err != nil {
			return "not run: " + err.Error()
		}
		return fmt.Sprintf("exit status %d\n%s", result.ExitCode, out.String())
	}

	fmt.Print(tool(context.Background(), "echo hello >greeting; cat greeting"))
	fmt.Print(tool(context.Background(), "echo hello >../outside"))
	// Output:
	// exit status 0
	// hello
	// exit status 1
	// bash: line 1: ../outside: Permission denied
}

// Reading a command runs nothing and looks at no file.
func ExampleEngine_Check() {
	report := sbx.Check(sbx.Request{Text: "cd /srv/app && rm -rf build"}, shell.Where{Cwd: "/home/ann/app", Home: "/home/ann"})
	fmt.Println(report.Tags)
	for _, f := range report.Findings {
		at := report.Script.Pos(f.Span.Start)
		fmt.Printf("%d:%d %s %s\n", at.Line, at.Column, f.Tag, f.Words)
	}
	// Output:
	// deletes,writes_outside
	// 1:16 deletes rm -rf build
	// 1:23 writes_outside /srv/app/build
}

// What guard refuses is an error that says what to do instead; nothing ran.
func ExampleEngine_Run_refused() {
	workspace, remove := exampleWorkspace()
	defer remove()
	engine, err := sbx.New(sbx.Options{Workspace: workspace})
	if err != nil {
		panic(err)
	}
	defer engine.Close()

	result, err := engine.Run(context.Background(), sbx.Request{Text: `touch ran; rm -rf "$HOME"`})
	var denied *sbx.DeniedError
	fmt.Println(errors.As(err, &denied), result.Ending, result.ExitCode)
	_, err = os.Stat(filepath.Join(workspace, "ran"))
	fmt.Println("ran:", err == nil)
	// Output:
	// true refused 126
	// ran: false
}
