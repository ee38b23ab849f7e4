package layout

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
)

// table is a file system: a trailing slash is a directory, "a -> b" a link.
type table []string

func (t table) list(at string) []entry {
	var entries []entry
	for _, line := range t {
		name, _, isLink := strings.Cut(line, " -> ")
		k := file
		if isLink {
			k = link
		} else if strings.HasSuffix(name, "/") {
			k = dir
		}
		if name = strings.TrimSuffix(name, "/"); path.Dir(name) == at {
			entries = append(entries, entry{path.Base(name), k})
		}
	}
	return entries
}

func (t table) readlink(name string) (string, error) {
	for _, line := range t {
		if from, to, ok := strings.Cut(line, " -> "); ok && from == name {
			return to, nil
		}
	}
	return "", errors.New("no link")
}

var host = table{
	"/bin -> usr/bin", "/usr/", "/etc/", "/etc/passwd", "/etc/shadow", "/etc/ssh/", "/etc/ssh/ssh_config", "/etc/ssh/ssh_host_rsa_key",
	"/dev/", "/home/", "/home/u/", "/home/u/.ssh/", "/home/u/.npmrc", "/home/u/src/", "/home/u/.config/", "/home/u/.config/gh/", "/home/u/.config/git/",
	"/home/u/.aws -> dot/aws", "/home/u/dot/", "/home/u/dot/aws/", "/home/u/dot/vim/", "/home/u/.kube -> /opt/kube", "/opt/", "/opt/kube/", "/opt/go/",
	"/home/v/",
}

func TestCarve(t *testing.T) {
	tests := []struct {
		name            string
		hidden          []string
		grants, refused []string
		carved          []string
	}{
		{"nothing hidden", nil, []string{"/"}, nil, nil},
		{
			"a home",
			[]string{"/home/u/.ssh", "/home/u/.npmrc", "/home/u/.config/gh", "/home/u/.cargo/credentials"},
			[]string{"/usr", "/etc", "/dev", "/opt", "/home/v", "/home/u/src", "/home/u/dot", "/home/u/.config/git"},
			[]string{"/home/u/.ssh", "/home/u/.npmrc", "/home/u/.config/gh", "/home/u", "/home", "/", "/home/u/.config"},
			[]string{"/", "/home", "/home/u", "/home/u/.config"},
		},
		{
			"patterns",
			[]string{"/etc/ssh/ssh_host_*_key", "/etc/shadow"},
			[]string{"/etc/passwd", "/etc/ssh/ssh_config", "/home"},
			[]string{"/etc/ssh/ssh_host_rsa_key", "/etc/shadow", "/etc", "/etc/ssh"},
			[]string{"/", "/etc", "/etc/ssh"},
		},
		{
			"links",
			[]string{"/home/u/.aws", "/home/u/.kube/config"},
			[]string{"/home/u/dot/vim", "/home/u/src", "/opt/go"},
			[]string{"/home/u/dot/aws", "/home/u/dot", "/home/u/.aws", "/opt", "/opt/kube"},
			[]string{"/", "/home", "/home/u", "/home/u/dot", "/opt", "/opt/kube"},
		},
	}
	for _, tt := range tests {
		c := carve(func() tree { return host }, tt.hidden)
		var got []string
		for _, g := range c.Grants {
			got = append(got, g.Path)
		}
		for _, want := range tt.grants {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %s is not granted", tt.name, want)
			}
		}
		for _, no := range tt.refused {
			if slices.Contains(got, no) {
				t.Errorf("%s: %s is granted", tt.name, no)
			}
		}
		slices.Sort(c.carved)
		if !slices.Equal(c.carved, tt.carved) {
			t.Errorf("%s: carved %v, want %v", tt.name, c.carved, tt.carved)
		}
	}
}

func TestCarveEndsOnRingsOfLinks(t *testing.T) {
	ring := table{"/a -> /b", "/b -> /a", "/c/", "/grows -> /grows/more", "/home/", "/home/u/", "/home/u/.ssh/", "/home/u/src/"}
	c := carve(func() tree { return ring }, []string{"/a/secret", "/grows/key", "/home/u/.ssh"})
	for _, g := range c.Grants {
		if slices.Contains([]string{"/a", "/b", "/grows", "/", "/home", "/home/u", "/home/u/.ssh"}, g.Path) {
			t.Errorf("%s is granted", g.Path)
		}
	}
	if !slices.Contains(c.Grants, Grant{"/home/u/src", true}) {
		t.Errorf("a ring elsewhere takes the grant of /home/u/src away: %v", c.Grants)
	}
	if !slices.Contains(c.Masks, Grant{"/home/u/.ssh", true}) {
		t.Errorf("a ring elsewhere uncovers /home/u/.ssh: %v", c.Masks)
	}
}
