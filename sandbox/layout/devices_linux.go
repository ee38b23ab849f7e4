package layout

import (
	"os"
	"path"
)

// Where is the node itself: in containers /dev/ptmx is a link.
func (d Device) Where() string {
	if real, err := os.Readlink(d.Path); err == nil {
		return path.Join("/dev", real)
	}
	return d.Path
}
