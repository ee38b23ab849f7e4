package containerd

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/sbx-run/sbx/sandbox/container"
)

// names is how a container finds names, where options say more than the host does.
type names struct {
	servers, search []string
	hosts           []string // lines of /etc/hosts
}

// resolverFile is what becomes /etc/resolv.conf: beside the socket. Empty: the
// container has no network, or the host's file.
func resolverFile(s container.Spec) string {
	if container.Offline(s.Profile) || s.Shares("/etc/resolv.conf") {
		return ""
	}
	return filepath.Join(s.Socket, "resolv.conf")
}

// write makes the files.
func (n names) write(s container.Spec) error {
	if _, err := s.WriteHosts(n.hosts...); err != nil {
		return err
	}
	file := resolverFile(s)
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(n.resolver(resolverFiles...)), 0o444)
}

// resolverFiles are the host's: where a resolver of the host listens on its
// loopback, which is not the container's, the second names the servers that it asks.
var resolverFiles = []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"}

// resolver is the text of that file: of the first of the host's that names a
// server which a container can reach.
func (n names) resolver(files ...string) string {
	var found []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		servers := 0
		found = nil
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			switch {
			case len(fields) < 2:
				continue
			case fields[0] == "nameserver":
				at, err := netip.ParseAddr(fields[1])
				if n.servers != nil || err != nil || at.IsLoopback() {
					continue
				}
				servers++
			case fields[0] == "search" && n.search != nil, fields[0] != "search" && fields[0] != "options":
				continue
			}
			found = append(found, strings.Join(fields, " "))
		}
		if servers > 0 || n.servers != nil {
			break
		}
	}
	for _, server := range n.servers {
		found = append(found, "nameserver "+server)
	}
	if n.search != nil {
		found = append(found, "search "+strings.Join(n.search, " "))
	}
	return strings.Join(found, "\n") + "\n"
}

// oneWord refuses what would be more than one word in a file.
func oneWord(v string) error {
	if v == "" || strings.ContainsAny(v, " \t\r\n#") {
		return errors.New("it is one word")
	}
	return nil
}
