package main

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx"
)

// notFound says that there is no program, and where one of that name is that was
// not looked for: a shell, too, wants ./NAME.
func (c *execCall) notFound(s *streams, r sbx.Result) {
	name := c.program()
	s.say("error", name+": no such program")
	if inContainers(r.Backend) && !c.wrapping && apartRemark(r) == "" { // which says it, too
		s.say("hint", "it was looked for in the image "+c.shown+" of backend "+r.Backend+"; --image names another")
	}
	if strings.Contains(name, "/") || c.wrapping {
		return
	}
	if info, err := os.Stat(c.inStart(r, name)); err == nil && info.Mode().IsRegular() {
		s.say("hint", "a file of that name is in the directory: ./"+name)
	}
}

// badInterpreter says why a script is not executable that looks as if it were.
func (c *execCall) badInterpreter(r sbx.Result) string {
	path := c.inStart(r, c.program())
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	rest, isScript := strings.CutPrefix(string(line), "#!")
	words := strings.Fields(rest)
	if !isScript || len(words) == 0 {
		return ""
	}
	if strings.HasSuffix(rest, "\r\n") {
		return ": its first line ends in a carriage return, which belongs to the interpreter's name then"
	}
	if _, err := os.Stat(words[0]); err == nil {
		return ""
	}
	return ": its interpreter " + words[0] + " is not there"
}

// inStart is a path as the command sees it where it starts.
func (c *execCall) inStart(r sbx.Result, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(cmp.Or(c.request.Dir, r.Workspace), name)
}
