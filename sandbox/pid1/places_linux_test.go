package pid1

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What the command sees of the host has a mount of its own, of the directory that
// was to be mounted.
func TestCheckPlaces(t *testing.T) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, "/proc", unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO, &st); err != nil || st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 {
		t.Skipf("this kernel does not tell mount points: %v", err)
	}
	place := func(name string) Place {
		p, err := PlaceAt(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	mounted, other := place("/proc"), place("/proc")
	other.Inode++
	for name, tt := range map[string]struct {
		places []Place
		fits   bool
	}{
		"a mount":                    {[]Place{mounted}, true},
		"another directory there":    {[]Place{mounted, other}, false},
		"the mount went elsewhere":   {[]Place{mounted, place(dir)}, false},
		"a link to a mount":          {[]Place{place(link)}, false},
		"a link where the mount was": {[]Place{{link, mounted.Device, mounted.Inode}}, false},
	} {
		if err := (Order{Places: tt.places}).checkPlaces(); (err == nil) != tt.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
