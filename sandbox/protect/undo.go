package protect

import (
	"os"
	"path/filepath"

	"github.com/sbx-run/sbx/sandbox"
)

// undo takes back what appeared, and says whether it did. What is removed lies
// below a writable directory: no link leads out of it. A build file is the work
// itself and stays.
func (w *Watch) undo(f sandbox.TrustFinding) bool {
	if f.Kind == sandbox.TrustBuild {
		return false
	}
	for _, dir := range w.before.roots {
		name, err := filepath.Rel(dir, f.Path)
		if err != nil || !within(f.Path, dir) || name == "." {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return false
		}
		defer root.Close()
		if f.Kind == sandbox.TrustSetID {
			return root.Chmod(name, 0o700) == nil
		}
		if f.Kind == sandbox.TrustRepository {
			return disarm(root, name)
		}
		return root.RemoveAll(name) == nil
	}
	return false
}

// disarm takes from a git directory what names programs to run, and leaves the
// history. A file that stands for a git directory is removed.
func disarm(root *os.Root, name string) bool {
	info, err := root.Lstat(name)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return root.Remove(name) == nil
	}
	done := true
	for _, part := range []string{"config", "config.worktree", "commondir", "hooks"} {
		done = root.RemoveAll(filepath.Join(name, part)) == nil && done
	}
	return done
}
