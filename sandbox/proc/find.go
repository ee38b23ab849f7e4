package proc

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sbx-run/sbx/sandbox"
)

// Tool finds the program of a backend in sbx's own PATH, without the entries
// that Trusted refuses: the workspace may stand in it. Where PATH is empty the
// usual places are searched.
func Tool(name string, p sandbox.Profile) (string, error) {
	var why error
	for _, dir := range filepath.SplitList(searchPath(append([]string{"PATH=" + defaultPath}, pathOf(os.Environ())...))) {
		at := filepath.Join(dir, name)
		if !filepath.IsAbs(dir) || checkProgram(at) != nil {
			continue
		}
		if err := Trusted(at, p); err != nil {
			why = fmt.Errorf("%s is not used: %w", at, err)
			continue
		}
		return at, nil
	}
	if why == nil {
		why = fmt.Errorf("no program %s on PATH", name)
	}
	return "", why
}

// pathOf leaves PATH of an environment, if it is not empty.
func pathOf(environ []string) []string {
	var list []string
	for _, entry := range environ {
		if len(entry) > len("PATH=") && entry[:len("PATH=")] == "PATH=" {
			list = append(list, entry)
		}
	}
	return list
}
