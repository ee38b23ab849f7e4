package direct

import (
	"path"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// The full tier shows the command the host's tree, read-only, with spots that
// differ. The layout is the list of spots, parents before children; it follows
// from the profile and the terrain alone.

// spot is one place in the command's mount namespace that is not the host's.
type spot struct {
	path  string
	kind  spotKind
	from  string // of bind and view: what is shown there, if not path
	dir   bool
	mode  uint32 // of cover and shut
	above int    // index of the nearest spot above, -1: none
	kept  bool   // of cover: also where a spot above covers already
	layer int    // of bind and pin: of which layer of a preview it is, from 1; 0: none
	root  bool   // it is all of that layer
	text  string // of view: what is shown there in place of the host's file
}

// resolverText leads to the resolver that sbx-proxy serves in the command's
// network.
const resolverText = "# written by sbx: names that the network's rules list\nnameserver 127.0.0.1\n"

type spotKind uint8

// The kinds, weakest first: where two want the same path, the later one wins.
const (
	mask  spotKind = iota // nothing: an empty directory or file
	cover                 // an empty directory of the command's own, gone with it
	shut                  // an empty read-only directory that holds spots
	view                  // the host's, read-only, where something above hides it
	pin                   // the host's, read-write, below a bind: a mount point cannot be renamed
	bind                  // the host's, read-write
	guard                 // the host's, read-only, below a bind
)

// writable says that the command may change what is there.
func (s spot) writable() bool { return s.kind == bind || s.kind == pin }

// own says that the spot is made of the tmpfs of the run.
func (s spot) own() bool { return s.kind <= shut }

func (s spot) source() string {
	if s.from != "" {
		return s.from
	}
	return s.path
}

// terrain is what the layout has to know of the host.
type terrain struct {
	masks    []grant  // hidden paths that exist
	sockets  []string // unix sockets that are bound to a path
	resolver string   // the file that /etc/resolv.conf leads to
	terminal string   // the device of the caller's terminal
	isDir    func(string) bool
}

const (
	sticky = 0o1777
	plain  = 0o755
)

// layout lists the spots. kinds says which of the profile's paths are
// directories.
func layout(p sandbox.Profile, t terrain) []spot {
	var all []spot
	add := func(s spot) { all = append(all, s) }
	for _, m := range t.masks {
		add(spot{path: m.path, kind: mask, dir: m.dir})
	}
	temp := ""
	if p.Limits.TempBytes > 0 {
		temp = p.Private.Temp
	}
	if temp != "" {
		add(spot{path: temp, kind: cover, dir: true, mode: sticky, kept: true})
	}
	for _, name := range writable(p) {
		if name == temp {
			continue
		}
		if name != "" {
			layer, root := layerOf(p, name)
			add(spot{path: name, kind: bind, dir: t.isDir(name), layer: layer, root: root})
		}
	}
	if t.resolver != "" {
		text := ""
		if p.Network == sandbox.NetworkRules {
			text = resolverText
		}
		add(spot{path: t.resolver, kind: view, dir: t.isDir(t.resolver), text: text})
	}
	for _, name := range readable(p) {
		if name != "" {
			add(spot{path: name, kind: view, dir: t.isDir(name)})
		}
	}
	all = append(all, guards(p, t)...)
	all = append(all, covers(p, t, all)...)
	slices.SortFunc(all, func(a, b spot) int {
		if c := comparePaths(a.path, b.path); c != 0 {
			return c
		}
		return int(b.kind) - int(a.kind)
	})
	all = slices.CompactFunc(all, func(a, b spot) bool { return a.path == b.path })
	return prune(all)
}

// guards are the protected files and, so that they stay where they are, the
// directories above them. What is hidden is not shown for being protected.
func guards(p sandbox.Profile, t terrain) []spot {
	var all []spot
	pinned := map[string]bool{}
	for _, name := range p.Protect {
		if slices.ContainsFunc(t.masks, func(m grant) bool { return isBelow(name, m.path) }) {
			continue
		}
		root := ""
		for _, w := range writable(p) {
			if isBelow(name, w) && len(w) > len(root) {
				root = w
			}
		}
		if root == "" || root == name {
			continue
		}
		all = append(all, spot{path: name, kind: guard, dir: t.isDir(name)})
		for above := path.Dir(name); above != root && !pinned[above]; above = path.Dir(above) {
			pinned[above] = true
			layer, _ := layerOf(p, above)
			all = append(all, spot{path: above, kind: pin, dir: true, layer: layer})
		}
	}
	return all
}

// covers are the spots that every command gets.
func covers(p sandbox.Profile, t terrain, named []spot) []spot {
	var all []spot
	own := func(name string, kind spotKind, mode uint32) {
		if t.isDir(name) {
			all = append(all, spot{path: name, kind: kind, dir: true, mode: mode})
		}
	}
	if !p.UnixAllow {
		for _, name := range socketPlaces() {
			own(name, shut, plain)
		}
		for _, name := range t.sockets {
			all = append(all, spot{path: name, kind: mask})
		}
	}
	if temp := p.Private.Temp; temp != "" && p.Limits.TempBytes == 0 && t.isDir("/tmp") && !slices.ContainsFunc(named, needsTree) {
		// What a command leaves in /tmp the next one finds there.
		all = append(all, spot{path: "/tmp", kind: bind, from: temp, dir: true})
	} else {
		own("/tmp", cover, sticky)
	}
	own("/var/tmp", cover, sticky)
	own("/dev", shut, plain)
	all = append(all,
		spot{path: "/dev/shm", kind: cover, dir: true, mode: sticky},
		spot{path: "/dev/pts", kind: shut, dir: true, mode: plain})
	for _, d := range devices() {
		if d.node {
			all = append(all, spot{path: d.path, kind: view})
		}
	}
	if t.terminal != "" {
		all = append(all, spot{path: "/dev/console", kind: view, from: t.terminal})
	}
	return all
}

// needsTree says that directories have to be made below /tmp for a spot, and
// that they must not stay behind in the private temp directory. A runtime's
// script directly in /tmp needs one file only, see passing.
func needsTree(s spot) bool {
	if s.kind == mask || s.path == "/tmp" || !isBelow(s.path, "/tmp") {
		return false
	}
	return s.kind != view || s.dir || path.Dir(s.path) != "/tmp"
}

// passing lists the files for which mount points are made in the private temp
// directory: views in a /tmp that is bound there.
func passing(all []spot) []int {
	var list []int
	for i, s := range all {
		if s.kind == view && s.above >= 0 && all[s.above].kind == bind && all[s.above].from != "" {
			list = append(list, i)
		}
	}
	return list
}

// comparePaths orders a directory before all that lies below it, and that
// before anything else.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}

// prune leaves out what a spot above gives already, and finds that spot.
func prune(all []spot) []spot {
	kept := all[:0:0]
	var chain []int // the spots above, by index
	for _, s := range all {
		for len(chain) > 0 && !isBelow(s.path, kept[chain[len(chain)-1]].path) {
			chain = chain[:len(chain)-1]
		}
		s.above = -1
		hidden, writable, elsewhere, layer := false, false, false, 0
		if len(chain) > 0 {
			s.above = chain[len(chain)-1]
			above := kept[s.above]
			hidden, writable = above.own(), above.writable()
			elsewhere, layer = above.from != "", above.layer
		}
		switch s.kind {
		case mask:
			if hidden {
				continue
			}
		case view:
			if !hidden && !elsewhere && s.text == "" {
				continue
			}
		case bind:
			if writable && layer == s.layer { // what is private is of no layer
				continue
			}
		case pin, guard:
			if !writable {
				continue
			}
		case cover, shut:
			if hidden && !isBelow(s.path, "/dev") && !s.kept {
				continue
			}
		}
		if hidden && kept[s.above].kind == mask {
			kept[s.above].kind, kept[s.above].mode = shut, plain // it holds something now
		}
		kept = append(kept, s)
		chain = append(chain, len(kept)-1)
	}
	return kept
}

// point is a mount point that has to be made.
type point struct {
	spot int    // in whose directory
	path string // below it
	dir  bool
	mode uint32
}

// points lists the mount points that spots need in the run's own tmpfs,
// parents first.
func points(all []spot) []point {
	var list []point
	for _, s := range all {
		if s.above < 0 || !all[s.above].own() {
			continue
		}
		rest := strings.TrimPrefix(s.path, all[s.above].path+"/")
		for i, r := range rest {
			if r == '/' {
				list = append(list, point{s.above, rest[:i], true, 0o555}) // nothing of the command's gets lost there
			}
		}
		list = append(list, point{s.above, rest, s.dir, plain})
	}
	seen := map[point]bool{}
	return slices.DeleteFunc(list, func(p point) bool {
		p.path = path.Clean(p.path)
		had := seen[p]
		seen[p] = true
		return had
	})
}

// socketPlaces are directories where daemons listen. A read-only mount does not
// stop a connection to a socket, so they are covered.
func socketPlaces() []string {
	return []string{
		"/run", "/var/run",
		"/var/lib/lxd", "/var/snap/lxd/common/lxd", "/var/lib/incus", "/var/lib/libvirt",
		"/var/spool/postfix", "/nix/var/nix/daemon-socket", "/var/lib/sss/pipes",
	}
}

// isBelow says whether name is dir or lies below it.
func isBelow(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// writable lists the paths that the command may change.
func writable(p sandbox.Profile) []string {
	list := slices.Clone(p.Write)
	if !p.ReadOnly {
		list = append([]string{p.Workspace}, list...)
	}
	for _, dir := range []string{p.Private.Temp, p.Private.Cache} {
		if dir != "" {
			list = append(list, dir)
		}
	}
	if p.Preview != nil {
		for _, root := range p.Preview.Roots {
			if !slices.Contains(list, root) {
				list = append(list, root)
			}
		}
	}
	return list
}

// layerOf says which layer of a preview a writable path belongs to, from 1, and
// whether it is all of it. What is private belongs to none.
func layerOf(p sandbox.Profile, name string) (layer int, root bool) {
	if p.Preview == nil || p.Private.Temp != "" && isBelow(name, p.Private.Temp) || p.Private.Cache != "" && isBelow(name, p.Private.Cache) {
		return 0, false
	}
	for i, root := range p.Preview.Roots {
		if isBelow(name, root) {
			return i + 1, name == root
		}
	}
	return 0, false
}

// readable lists the paths that stay readable whatever hides them.
func readable(p sandbox.Profile) []string {
	if p.ReadOnly {
		return append([]string{p.Workspace}, p.Read...)
	}
	return p.Read
}
