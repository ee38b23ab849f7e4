package layout

import (
	"path"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
)

// The full tier shows the command the host's tree, read-only, with spots that
// differ. The layout is the list of spots, parents before children; it follows
// from the profile and the terrain alone.

// Spot is one place in the command's mount namespace that is not the host's.
type Spot struct {
	Path  string
	Kind  Kind
	From  string // of bind and view: what is shown there, if not path
	Dir   bool
	Mode  uint32 // of cover and shut
	Above int    // index of the nearest spot above, -1: none
	kept  bool   // of cover: also where a spot above covers already
	Layer int    // of bind and pin: of which layer of a preview it is, from 1; 0: none
	Root  bool   // it is all of that layer
	Text  string // of view: what is shown there in place of the host's file
}

// resolverText leads to the resolver that sbx-proxy serves in the command's
// network.
const resolverText = "# written by sbx: names that the network's rules list\nnameserver 127.0.0.1\n"

// Kind is what a Spot is.
type Kind uint8

// The kinds, weakest first: where two want the same path, the later one wins.
const (
	Mask  Kind = iota // nothing: an empty directory or file
	Cover             // an empty directory of the command's own, gone with it
	Shut              // an empty read-only directory that holds spots
	View              // the host's, read-only, where something above hides it
	Pin               // the host's, read-write, below a bind: a mount point cannot be renamed
	Bind              // the host's, read-write
	Guard             // the host's, read-only, below a bind
)

// Writable says that the command may change what is there.
func (s Spot) Writable() bool { return s.Kind == Bind || s.Kind == Pin }

// Own says that the spot is made of the tmpfs of the run.
func (s Spot) Own() bool { return s.Kind <= Shut }

// Source is the path of the host that is shown there.
func (s Spot) Source() string {
	if s.From != "" {
		return s.From
	}
	return s.Path
}

// Terrain is what the layout has to know of the host.
type Terrain struct {
	Masks    []Grant  // hidden paths that exist
	Sockets  []string // unix sockets that are bound to a path
	Daemons  []string // second names of the directories where daemons listen
	Resolver string   // the file that /etc/resolv.conf leads to
	Terminal string   // the device of the caller's terminal
	IsDir    func(string) bool
}

// Link is a symbolic link that is made again.
type Link struct{ Name, To string }

// Plain is the mode of an ordinary directory.
const (
	sticky = 0o1777
	Plain  = 0o755
)

// Of lists the spots, parents before children.
func Of(p sandbox.Profile, t Terrain) []Spot {
	var all []Spot
	add := func(s Spot) { all = append(all, s) }
	for _, m := range t.Masks {
		add(Spot{Path: m.Path, Kind: Mask, Dir: m.Dir})
	}
	temp := ""
	if p.Limits.TempBytes > 0 {
		temp = p.Private.Temp
	}
	if temp != "" {
		add(Spot{Path: temp, Kind: Cover, Dir: true, Mode: sticky, kept: true})
	}
	for _, name := range Writable(p) {
		if name == temp {
			continue
		}
		if name != "" {
			layer, root := layerOf(p, name)
			add(Spot{Path: name, Kind: Bind, Dir: t.IsDir(name), Layer: layer, Root: root})
		}
	}
	if t.Resolver != "" {
		text := ""
		if p.Network == sandbox.NetworkRules {
			text = resolverText
		}
		add(Spot{Path: t.Resolver, Kind: View, Dir: t.IsDir(t.Resolver), Text: text})
	}
	for _, name := range Readable(p) {
		if name != "" {
			add(Spot{Path: name, Kind: View, Dir: t.IsDir(name)})
		}
	}
	all = append(all, guards(p, t)...)
	all = append(all, covers(p, t, all)...)
	slices.SortFunc(all, func(a, b Spot) int {
		if c := comparePaths(a.Path, b.Path); c != 0 {
			return c
		}
		return int(b.Kind) - int(a.Kind)
	})
	all = slices.CompactFunc(all, func(a, b Spot) bool { return a.Path == b.Path })
	return prune(all)
}

// guards are the protected files and, so that they stay where they are, the
// directories above them. What is hidden is not shown for being protected.
func guards(p sandbox.Profile, t Terrain) []Spot {
	var all []Spot
	pinned := map[string]bool{}
	for _, name := range p.Protect {
		if slices.ContainsFunc(t.Masks, func(m Grant) bool { return IsBelow(name, m.Path) }) {
			continue
		}
		root := rootOf(p, name)
		if root == "" || root == name {
			continue
		}
		all = append(all, Spot{Path: name, Kind: Guard, Dir: t.IsDir(name)})
		for above := path.Dir(name); above != root && !pinned[above]; above = path.Dir(above) {
			pinned[above] = true
			layer, _ := layerOf(p, above)
			all = append(all, Spot{Path: above, Kind: Pin, Dir: true, Layer: layer})
		}
	}
	return all
}

// rootOf is the writable directory that a path lies in, the deepest; "": none.
func rootOf(p sandbox.Profile, name string) string {
	root := ""
	for _, w := range Writable(p) {
		if IsBelow(name, w) && len(w) > len(root) {
			root = w
		}
	}
	return root
}

// covers are the spots that every command gets.
func covers(p sandbox.Profile, t Terrain, named []Spot) []Spot {
	var all []Spot
	own := func(name string, kind Kind, mode uint32) {
		if t.IsDir(name) {
			all = append(all, Spot{Path: name, Kind: kind, Dir: true, Mode: mode})
		}
	}
	if !p.UnixAllow {
		for _, name := range slices.Concat(socketPlaces(), t.Daemons) {
			own(name, Shut, Plain)
		}
		for _, name := range t.Sockets {
			all = append(all, Spot{Path: name, Kind: Mask})
		}
	}
	if temp := p.Private.Temp; temp != "" && p.Limits.TempBytes == 0 && t.IsDir("/tmp") && !slices.ContainsFunc(named, needsTree) {
		// What a command leaves in /tmp the next one finds there.
		all = append(all, Spot{Path: "/tmp", Kind: Bind, From: temp, Dir: true})
	} else {
		own("/tmp", Cover, sticky)
	}
	own("/var/tmp", Cover, sticky)
	own("/dev", Shut, Plain)
	all = append(all,
		Spot{Path: "/dev/shm", Kind: Cover, Dir: true, Mode: sticky},
		Spot{Path: "/dev/pts", Kind: Shut, Dir: true, Mode: Plain})
	for _, d := range Devices() {
		if d.node {
			all = append(all, Spot{Path: d.Path, Kind: View})
		}
	}
	if t.Terminal != "" {
		all = append(all, Spot{Path: "/dev/console", Kind: View, From: t.Terminal})
	}
	return all
}

// needsTree says that directories have to be made below /tmp for a spot, and
// that they must not stay behind in the private temp directory. A runtime's
// script directly in /tmp needs one file only, see Passing.
func needsTree(s Spot) bool {
	if s.Kind == Mask || s.Path == "/tmp" || !IsBelow(s.Path, "/tmp") {
		return false
	}
	return s.Kind != View || s.Dir || path.Dir(s.Path) != "/tmp"
}

// Passing lists the files for which mount points are made in the private temp
// directory: views in a /tmp that is bound there.
func Passing(all []Spot) []int {
	var list []int
	for i, s := range all {
		if s.Kind == View && s.Above >= 0 && all[s.Above].Kind == Bind && all[s.Above].From != "" {
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
func prune(all []Spot) []Spot {
	kept := all[:0:0]
	var chain []int // the spots above, by index
	for _, s := range all {
		for len(chain) > 0 && !IsBelow(s.Path, kept[chain[len(chain)-1]].Path) {
			chain = chain[:len(chain)-1]
		}
		s.Above = -1
		hidden, writable, elsewhere, layer := false, false, false, 0
		if len(chain) > 0 {
			s.Above = chain[len(chain)-1]
			above := kept[s.Above]
			hidden, writable = above.Own(), above.Writable()
			elsewhere, layer = above.From != "", above.Layer
		}
		switch s.Kind {
		case Mask:
			if hidden {
				continue
			}
		case View:
			if !hidden && !elsewhere && s.Text == "" {
				continue
			}
		case Bind:
			if writable && layer == s.Layer { // what is private is of no layer
				continue
			}
		case Pin, Guard:
			if !writable {
				continue
			}
		case Cover, Shut:
			if hidden && !IsBelow(s.Path, "/dev") && !s.kept {
				continue
			}
		}
		if hidden && kept[s.Above].Kind == Mask {
			kept[s.Above].Kind, kept[s.Above].Mode = Shut, Plain // it holds something now
		}
		kept = append(kept, s)
		chain = append(chain, len(kept)-1)
	}
	return kept
}

// Point is a mount point that has to be made.
type Point struct {
	Spot int    // in whose directory
	Path string // below it
	Dir  bool
	Mode uint32
}

// Points lists the mount points that spots need in the run's own tmpfs,
// parents first.
func Points(all []Spot) []Point {
	var list []Point
	for _, s := range all {
		if s.Above < 0 || !all[s.Above].Own() {
			continue
		}
		rest := strings.TrimPrefix(s.Path, all[s.Above].Path+"/")
		for i, r := range rest {
			if r == '/' {
				list = append(list, Point{s.Above, rest[:i], true, 0o555}) // nothing of the command's gets lost there
			}
		}
		list = append(list, Point{s.Above, rest, s.Dir, Plain})
	}
	seen := map[Point]bool{}
	return slices.DeleteFunc(list, func(p Point) bool {
		p.Path = path.Clean(p.Path)
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

// IsBelow says whether name is dir or lies below it.
func IsBelow(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// Nearest is the spot at or above a path; nil: there is none.
func Nearest(spots []Spot, name string) (nearest *Spot) {
	for i := range spots { // parents stand before children
		if IsBelow(name, spots[i].Path) {
			nearest = &spots[i]
		}
	}
	return nearest
}

// Writable lists the paths that the command may change.
func Writable(p sandbox.Profile) []string {
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
	if p.Preview == nil || p.Private.Temp != "" && IsBelow(name, p.Private.Temp) || p.Private.Cache != "" && IsBelow(name, p.Private.Cache) {
		return 0, false
	}
	for i, root := range p.Preview.Roots {
		if IsBelow(name, root) {
			return i + 1, name == root
		}
	}
	return 0, false
}

// Readable lists the paths that stay readable whatever hides them.
func Readable(p sandbox.Profile) []string {
	if p.ReadOnly {
		return append([]string{p.Workspace}, p.Read...)
	}
	return p.Read
}
