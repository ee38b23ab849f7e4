package proc

import (
	"fmt"
	"path/filepath"

	"github.com/sbx-run/sbx/sandbox"
)

// Tool finds the program of a backend in a search path, sbx's own PATH, without
// the entries that Trusted refuses: the workspace may stand in it. Where the path
// is empty the usual places are searched.
func Tool(name, path string, p sandbox.Profile) (string, error) {
	if path == "" {
		path = defaultPath
	}
	var why error
	for _, dir := range filepath.SplitList(path) {
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
		why = fmt.Errorf("there is no program %s on PATH", name)
	}
	return "", why
}
