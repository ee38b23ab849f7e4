package direct

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/layout"
	"github.com/sbx-run/sbx/sandbox/notify"
)

// Which calls of the command the sandbox refused is worked out from what was
// asked of the kernel, after the call was let go: rules that judge are the
// layout and the Landlock rules, not what the command printed. Here it follows
// from facts alone; see witness for the facts.

// sight is what is known of one path of a call.
type sight struct {
	path      string // where it is, without links: as the command sees it, else as the host has it
	seen      bool   // it is there for the command
	around    bool   // the directory that it is in, or would be in, is there for the command
	directory bool
	special   bool // a device, a pipe or a socket: a read-only mount does not keep from writing to it
	readonly  bool // its mount, or that of the directory
	pinned    bool // something is mounted right there
	mount     uint64
	host      hostSight
}

// hostSight is the same without the sandbox.
type hostSight struct {
	found  bool
	device uint64
	may    bool // the permissions of the command's user allow the act
	unsure bool // may could not be found out, and is set
}

// rulebook knows what one tier refuses.
type rulebook interface {
	// refuses says whether the sandbox keeps the act from this path.
	refuses(act notify.Act, s sight) (reason, bool)
	// parts says whether the two are on mounts of their own, so that nothing can
	// be moved or linked from one to the other.
	parts(from, to sight) bool
}

// reason is why an act is refused, and the flag for it.
type reason struct {
	layer sandbox.Layer
	rule  string
	flag  string // "--allow-write", "--allow-read", "--unprotect" or none
	of    string // what the flag is about, if not the path of the act
}

// judgeOne judges a call with one path.
func judgeOne(b rulebook, e notify.Event, s sight) (sandbox.Denial, bool) {
	op, act, happens := meaning(e, s)
	if !happens {
		return sandbox.Denial{}, false
	}
	r, refused := b.refuses(act, s)
	if !refused || !s.host.may {
		return sandbox.Denial{}, false
	}
	return r.denial(e, op, act, s), true
}

// judgeTwo judges a rename or a link.
func judgeTwo(b rulebook, e notify.Event, from, to sight) (sandbox.Denial, bool) {
	d := sandbox.Denial{Operation: sandbox.DeniedRename, Call: e.Call, Path: from.path, To: to.path}
	first := notify.Delete
	if e.Act == notify.Link {
		d.Operation, first = sandbox.DeniedLink, notify.Link
	}
	there := to.seen || to.host.found
	switch {
	case there && (e.Act == notify.Link || e.Exclusive), there && from.directory != to.directory:
		return d, false // EEXIST, EISDIR or ENOTDIR
	case !from.host.found || !from.host.may || !to.host.may || from.host.device != to.host.device:
		return d, false // it would not have worked without the sandbox either
	}
	d.Likely = from.host.unsure || to.host.unsure
	r, refused := b.refuses(notify.Create, to)
	d.Layer, d.Rule, d.Allow = r.layer, r.rule, r.allow(notify.Create, to.path)
	if !refused {
		r, refused = b.refuses(first, from)
		d.Layer, d.Rule, d.Allow = r.layer, r.rule, r.allow(notify.Delete, from.path)
	}
	apart := b.parts(from, to)
	switch {
	case !refused:
		d.Layer, d.Rule = sandbox.LayerMount, ruleApart
	case apart && d.Allow != "": // no flag joins the two
		d.Rule, d.Allow = d.Rule+" and on another mount: copying works, with "+d.Allow, ""
	}
	return d, refused || apart
}

// meaning says what the call does here; false when it does nothing, or fails
// for a reason of its own.
func meaning(e notify.Event, s sight) (op sandbox.Operation, act notify.Act, happens bool) {
	there := s.seen || s.host.found
	switch e.Act {
	case notify.Read:
		return sandbox.DeniedRead, notify.Read, there
	case notify.Write:
		switch {
		case e.Unnamed:
			return sandbox.DeniedCreate, notify.Create, there && s.directory
		case e.Exclusive && there, s.directory:
			return "", 0, false
		case there && !e.Writes:
			return sandbox.DeniedRead, notify.Read, true
		case there:
			return sandbox.DeniedWrite, notify.Write, true
		}
		return sandbox.DeniedCreate, notify.Create, e.Create
	case notify.Truncate:
		return sandbox.DeniedWrite, notify.Write, there && !s.directory
	case notify.Create:
		return sandbox.DeniedCreate, notify.Create, !there
	case notify.Delete:
		return sandbox.DeniedDelete, notify.Delete, there && !s.directory
	case notify.DeleteDir:
		return sandbox.DeniedDelete, notify.Delete, there && s.directory
	case notify.Mode, notify.Owner, notify.Times:
		return sandbox.DeniedMetadata, e.Act, there
	}
	return "", 0, false
}

func (r reason) denial(e notify.Event, op sandbox.Operation, act notify.Act, s sight) sandbox.Denial {
	return sandbox.Denial{
		Operation: op, Path: s.path, Call: e.Call, Layer: r.layer, Rule: r.rule, Allow: r.allow(act, s.path), Likely: s.host.unsure,
	}
}

// allow is the flag, with the narrowest path that would do.
func (r reason) allow(act notify.Act, name string) string {
	if r.flag == "" {
		return ""
	}
	switch {
	case r.of != "":
		name = r.of
	case act == notify.Create || act == notify.Delete:
		name = path.Dir(name)
	}
	if name == "/" {
		return ""
	}
	return r.flag + " " + shellWord(name)
}

// judgeConnect judges a connection from a network namespace that has nothing
// but its own loopback. route says that the host could send there.
func judgeConnect(net sandbox.Network, e notify.Event, route bool) (sandbox.Denial, bool) {
	to := e.Peer.Addr()
	d := sandbox.Denial{
		Operation: sandbox.DeniedConnect, Call: e.Call, Host: to.WithZone("").String(), Port: e.Peer.Port(), Layer: sandbox.LayerNetwork,
		Rule: "the network is off", Allow: "--network on",
	}
	if net == sandbox.NetworkRules {
		d.Rule, d.Allow = "only the proxy leads out, and the program did not use it", ""
	}
	return d, route && to.IsValid() && !to.IsLoopback() && !to.IsUnspecified()
}

// shellWord quotes a path so that it can be pasted.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@%=:", r)
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	if q := strconv.Quote(s); len(q) == len(s)+2+strings.Count(s, `"`)+strings.Count(s, `\`) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder // bash's quotes for any byte
	b.WriteString("$'")
	for i := range len(s) {
		if c := s[i]; plain(rune(c)) {
			b.WriteByte(c)
		} else {
			b.WriteString(`\x` + strconv.FormatUint(uint64(c)>>4, 16) + strconv.FormatUint(uint64(c)&15, 16))
		}
	}
	return b.String() + "'"
}

const (
	flagWrite = "--allow-write"
	flagRead  = "--allow-read"
	flagOpen  = "--unprotect"

	ruleOutside = "outside the workspace"
	ruleFrozen  = "the workspace is read-only"
	ruleHidden  = "hidden: credentials may be there"
	ruleKernel  = "settings of the kernel are read-only"
	ruleDevices = "only common devices are there"
	ruleGuarded = "protected: others run or trust it later"
	rulePinned  = "a mount of the sandbox stands there"
	ruleApart   = "the two are on different mounts in the sandbox: copying works"
	ruleLate    = "it was not there when the command started"
)

// layoutRules is the rulebook of the full tiers.
type layoutRules struct {
	spots  []layout.Spot
	frozen string // the workspace, if it is read-only
}

// frozenOf is the workspace of a profile that says that it is read-only.
func frozenOf(p sandbox.Profile) string {
	if p.ReadOnly {
		return p.Workspace
	}
	return ""
}

// parts: every spot is a mount of its own.
func (l layoutRules) parts(from, to sight) bool { return from.mount != to.mount }

func (l layoutRules) refuses(act notify.Act, s sight) (reason, bool) {
	at := layout.Nearest(l.spots, s.path) // nil is the host's tree
	needed := s.seen
	if act == notify.Create {
		needed = s.around
	}
	if !needed { // the command gets ENOENT for what the host has
		if at == nil || !at.Own() && at.From == "" || !s.host.found && act != notify.Create {
			return reason{}, false
		}
		return coverReason(at, act), true
	}
	switch {
	case act == notify.Read:
		if at == nil || at.Kind != layout.Mask {
			return reason{}, false
		}
		return coverReason(at, act), true
	case act == notify.Delete && s.pinned:
		if at != nil && at.Path == s.path && at.Kind == layout.Guard {
			return guardReason(at), true
		}
		return reason{layer: sandbox.LayerMount, rule: rulePinned}, true
	case s.special && act == notify.Write:
		if at != nil && (at.Writable() || at.Kind == layout.Cover || at.Path == "/dev" || layout.IsBelow(at.Path, "/dev")) {
			return reason{}, false
		}
		return reason{layer: sandbox.LayerLandlock, rule: ruleOutside, flag: flagWrite}, true
	case !s.readonly:
		return reason{}, false
	}
	switch {
	case layout.IsBelow(s.path, "/proc"), layout.IsBelow(s.path, "/sys"):
		return reason{layer: sandbox.LayerMount, rule: ruleKernel}, true
	case l.frozen != "" && layout.IsBelow(s.path, l.frozen):
		return reason{layer: sandbox.LayerMount, rule: ruleFrozen}, true
	case at == nil || at.Kind == layout.View:
		return reason{layer: sandbox.LayerMount, rule: ruleOutside, flag: flagWrite}, true
	case at.Kind == layout.Guard:
		return guardReason(at), true
	}
	return coverReason(at, act), true
}

func guardReason(at *layout.Spot) reason {
	return reason{layer: sandbox.LayerMount, rule: ruleGuarded, flag: flagOpen, of: at.Path}
}

// coverReason is for what lies below a spot that hides the host's.
func coverReason(at *layout.Spot, act notify.Act) reason {
	r := reason{layer: sandbox.LayerCover, rule: at.Path + " is the command's own", flag: flagWrite}
	if act == notify.Read {
		r.flag = flagRead
	}
	switch {
	case layout.IsBelow(at.Path, "/dev"):
		r.rule, r.flag = ruleDevices, ""
	case at.Kind == layout.Mask:
		r.rule = ruleHidden
	case at.Kind == layout.Shut:
		r.rule = at.Path + " is covered: daemons listen there, credentials may be there"
	}
	return r
}

// grantRules is the rulebook of the tier landlock.
type grantRules struct {
	write []string       // paths that may be written, with all below them
	read  []layout.Grant // paths that may be read, with all below them
	masks []string       // what is hidden
	// frozen is the workspace, if it is read-only.
	frozen string
}

// parts: what may be changed may be moved.
func (g grantRules) parts(sight, sight) bool { return false }

func (g grantRules) refuses(act notify.Act, s sight) (reason, bool) {
	writable := func(name string) bool {
		return slices.ContainsFunc(g.write, func(w string) bool { return layout.IsBelow(name, w) })
	}
	switch act {
	case notify.Mode, notify.Owner, notify.Times:
		return reason{}, false // a gap of this tier
	case notify.Read:
		if s.directory || writable(s.path) || slices.ContainsFunc(g.read, func(r layout.Grant) bool { return layout.IsBelow(s.path, r.Path) }) {
			return reason{}, false
		}
		return g.why(act, s.path), true
	case notify.Create, notify.Delete, notify.Link:
		if writable(path.Dir(s.path)) {
			return reason{}, false
		}
	case notify.Write:
		if writable(s.path) {
			return reason{}, false
		}
	}
	return g.why(act, s.path), true
}

func (g grantRules) why(act notify.Act, name string) reason {
	r := reason{layer: sandbox.LayerLandlock, rule: ruleOutside, flag: flagWrite}
	if act == notify.Read {
		r.rule, r.flag = ruleLate, flagRead
	}
	switch {
	case layout.IsBelow(name, "/dev"):
		r.rule, r.flag = ruleDevices, ""
	case layout.IsBelow(name, "/proc"), layout.IsBelow(name, "/sys"):
		r.rule, r.flag = ruleKernel, ""
	case g.frozen != "" && layout.IsBelow(name, g.frozen) && act != notify.Read:
		r.rule, r.flag = ruleFrozen, ""
	case slices.ContainsFunc(g.masks, func(m string) bool { return layout.IsBelow(name, m) }):
		r.rule = ruleHidden
	}
	return r
}
