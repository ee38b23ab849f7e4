package sbx

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sbx-run/sbx/sandbox"
)

// renew gives a run a temp directory of its own beside the one that is kept, and
// removes those of runs that are no more.
func (p *private) renew(id *sandbox.Identity) error {
	if p.fresh {
		return nil
	}
	reapFresh(p.dir)
	run, err := makeFresh(p.dir, id)
	if err != nil {
		return err
	}
	p.run = run
	return nil
}

// removeTree removes a directory, also where a command took its own rights away.
// It stays below the directory that holds it, whatever links there are.
func removeTree(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), filepath.Base(dir), func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	_ = root.RemoveAll(filepath.Base(dir)) // what cannot be removed stays for the next one
}
