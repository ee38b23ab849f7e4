package changes

import (
	"context"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// The size of layers on disk is looked at all the time, but not more than a
// tenth of the time: a large tree takes long to walk.
const (
	watchEvery = 100 * time.Millisecond
	watchShare = 10
)

// Watch returns true when the directories together take more than limit bytes
// on disk, and false when ctx is done before.
func Watch(ctx context.Context, dirs []string, limit int64) bool {
	for pause := watchEvery; ; {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pause):
		}
		began := time.Now()
		if used(dirs) > limit {
			return true
		}
		pause = max(watchEvery, watchShare*time.Since(began))
	}
}

// used adds up what files take. What vanishes meanwhile, or cannot be looked at,
// does not count.
func used(dirs []string) (bytes int64) {
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := d.Info(); err == nil {
				if st, ok := info.Sys().(*syscall.Stat_t); ok {
					bytes += st.Blocks * 512 / max(1, int64(st.Nlink))
				}
			}
			return nil
		})
	}
	return bytes
}
