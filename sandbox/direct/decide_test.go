package direct

import (
	"errors"
	"slices"
	"testing"

	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/filter"
)

// The decision follows from the ABI and the profile alone, so it is tested
// without a kernel.
func TestDecide(t *testing.T) {
	supervised := sandbox.Profile{Supervisor: true}
	library := sandbox.Profile{}
	open := sandbox.Profile{Supervisor: true, Network: sandbox.NetworkHost, UnixAllow: true}
	const abi1 = execute | writeFile | readFile | removeDir | removeFile | makeChar | makeDir | makeReg | makeSock | makeFifo | makeBlock | makeSym
	tests := []struct {
		name    string
		abi     int
		profile sandbox.Profile
		handled uint64
		scoped  uint64
		filters []string
		gaps    []sandbox.Control // among others
		given   []sandbox.Control // among others
	}{
		{
			"first", 1, supervised, abi1, 0,
			[]string{filter.Base, filter.NoUnix, filter.NoNet},
			[]sandbox.Control{sandbox.WritesConfined, sandbox.Signals},
			[]sandbox.Control{sandbox.AbstractSockets, sandbox.NetworkOff},
		},
		{
			"refer", 2, supervised, abi1 | refer, 0,
			[]string{filter.Base, filter.NoUnix, filter.NoNet},
			[]sandbox.Control{sandbox.WritesConfined},
			nil,
		},
		{
			"truncate", 3, supervised, abi1 | refer | truncate, 0,
			[]string{filter.Base, filter.NoUnix, filter.NoNet},
			[]sandbox.Control{sandbox.Signals},
			[]sandbox.Control{sandbox.WritesConfined},
		},
		{
			"ioctl", 5, open, abi1 | refer | truncate | ioctlDev, 0,
			[]string{filter.Base},
			[]sandbox.Control{sandbox.Signals, sandbox.AbstractSockets, sandbox.UnixSockets, sandbox.HostNetwork},
			[]sandbox.Control{sandbox.WritesConfined},
		},
		{
			"scopes, library", 6, library, abi1 | refer | truncate | ioctlDev, scopeAbstract | scopeSignal,
			[]string{filter.Base, filter.NoUnix, filter.NoNet},
			[]sandbox.Control{sandbox.DaemonsEnd, sandbox.EndsWithCaller, sandbox.Loopback},
			[]sandbox.Control{sandbox.Signals, sandbox.AbstractSockets, sandbox.TreeEnds},
		},
		{
			"scopes, supervised", 7, supervised, abi1 | refer | truncate | ioctlDev, scopeAbstract | scopeSignal,
			[]string{filter.Base, filter.NoUnix, filter.NoNet},
			[]sandbox.Control{sandbox.EndsWithCaller, sandbox.MetadataConfined, sandbox.StatHidden, sandbox.ProcessesHidden, sandbox.HooksProtected, sandbox.SharedMemory, sandbox.Terminals},
			[]sandbox.Control{sandbox.DaemonsEnd, sandbox.CredentialsLate, sandbox.Signals, sandbox.UnixSockets},
		},
	}
	for _, tt := range tests {
		d := decide(tt.abi, tt.profile, nil, nil)
		if d.handled != tt.handled || d.scoped != tt.scoped || !slices.Equal(d.filters, tt.filters) {
			t.Errorf("%s: handled %#x, scoped %#x, filters %v", tt.name, d.handled, d.scoped, d.filters)
		}
		for _, c := range tt.gaps {
			if !hasGap(d.gaps, c) || slices.Contains(d.enforced, c) {
				t.Errorf("%s: %s is not a gap", tt.name, c)
			}
		}
		for _, c := range tt.given {
			if hasGap(d.gaps, c) || !slices.Contains(d.enforced, c) {
				t.Errorf("%s: %s is not enforced", tt.name, c)
			}
		}
		for _, g := range d.gaps {
			if g.Why == "" || g.Fix == "" {
				t.Errorf("%s: gap %s has no reason or no remedy", tt.name, g.Control)
			}
		}
	}
}

func TestDecideFull(t *testing.T) {
	for _, tt := range []struct {
		name   string
		abi    int
		p      sandbox.Profile
		noProc bool
		gaps   []sandbox.Control // all of them
	}{
		{"off", newestABI, sandbox.Profile{}, false, []sandbox.Control{sandbox.CredentialsLate, sandbox.UnixSockets, sandbox.HooksProtected}},
		{"protected", newestABI, sandbox.Profile{Protect: []string{"/ws/.git/hooks"}}, false, []sandbox.Control{sandbox.CredentialsLate, sandbox.UnixSockets}},
		{"nothing to protect", newestABI, sandbox.Profile{Protect: []string{}}, false, []sandbox.Control{sandbox.CredentialsLate, sandbox.UnixSockets}},
		{"on", newestABI, sandbox.Profile{Network: sandbox.NetworkHost}, false, []sandbox.Control{sandbox.CredentialsLate, sandbox.HostNetwork, sandbox.UnixSockets, sandbox.HooksProtected}},
		{"on, old", 5, sandbox.Profile{Network: sandbox.NetworkHost}, false, []sandbox.Control{sandbox.CredentialsLate, sandbox.HostNetwork, sandbox.AbstractSockets, sandbox.UnixSockets, sandbox.HooksProtected}},
		{"supervised, old", 5, sandbox.Profile{Supervisor: true}, false, []sandbox.Control{sandbox.CredentialsLate, sandbox.Signals, sandbox.UnixSockets, sandbox.HooksProtected}},
		{"supervised", 6, sandbox.Profile{Supervisor: true}, false, []sandbox.Control{sandbox.CredentialsLate, sandbox.UnixSockets, sandbox.HooksProtected}},
		{"rules", 5, sandbox.Profile{Network: sandbox.NetworkRules}, false, []sandbox.Control{sandbox.CredentialsLate, sandbox.UnixSockets, sandbox.HooksProtected}},
		{"no proc", newestABI, sandbox.Profile{UnixAllow: true}, true, []sandbox.Control{sandbox.CredentialsLate, sandbox.UnixSockets, sandbox.ProcessesHidden, sandbox.HooksProtected}},
	} {
		d := decideFull(tt.abi, tt.p, tt.noProc)
		var got []sandbox.Control
		for _, g := range d.gaps {
			got = append(got, g.Control)
			if g.Why == "" || g.Fix == "" {
				t.Errorf("%s: gap %s has no reason or no remedy", tt.name, g.Control)
			}
		}
		if !slices.Equal(got, tt.gaps) {
			t.Errorf("%s: gaps %v, want %v", tt.name, got, tt.gaps)
		}
		for _, c := range sandbox.Controls() {
			want := !slices.Contains(got, c) && tt.p.Limits.Speaks(c)
			switch c {
			case sandbox.NetworkOff:
				want = want && tt.p.Network == sandbox.NetworkNone
			case sandbox.RulesHeld:
				want = want && tt.p.Network == sandbox.NetworkRules
			case sandbox.DenialsExplained, sandbox.AllCarried: // see decision.explained
				want = false
			}
			if slices.Contains(d.enforced, c) != want {
				t.Errorf("%s: %s enforced: %v", tt.name, c, !want)
			}
		}
	}
}

func TestRequiredGapsRefuse(t *testing.T) {
	judge := func(abi int, p sandbox.Profile, inside ...string) error {
		_, err := p.Judge(Name, decide(abi, p, inside, inside).gaps)
		return err
	}
	for _, p := range []sandbox.Profile{{}, {Supervisor: true}, {Network: sandbox.NetworkHost}, {UnixAllow: true}} {
		if err := judge(newestABI, p); err != nil {
			t.Errorf("%+v is refused on a current kernel: %v", p, err)
		}
		var refused *sandbox.GapError
		if err := judge(2, p); !errors.As(err, &refused) || !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%+v is not refused without truncate: %v", p, err)
		}
	}
	inside := "/ws/.netrc"
	if err := judge(newestABI, sandbox.Profile{}, inside); err == nil {
		t.Error("a credential inside the workspace is not refused")
	}
	if err := judge(newestABI, sandbox.Profile{Accept: []sandbox.Control{sandbox.CredentialsHidden}}, inside); err != nil {
		t.Errorf("an accepted gap is refused: %v", err)
	}
}

// What does not exist yet is no gap of what is hidden now.
func TestDecideLate(t *testing.T) {
	d := decide(newestABI, sandbox.Profile{}, nil, []string{"/ws/.netrc"})
	if !hasGap(d.gaps, sandbox.CredentialsLate) || slices.Contains(d.enforced, sandbox.CredentialsLate) || !slices.Contains(d.enforced, sandbox.CredentialsHidden) {
		t.Errorf("a place of credentials in the workspace: gaps %v, enforced %v", d.gaps, d.enforced)
	}
	if _, err := (sandbox.Profile{}).Judge(Name, d.gaps); err != nil {
		t.Errorf("refused although nobody requires it: %v", err)
	}
	if _, err := (sandbox.Profile{Required: []sandbox.Control{sandbox.CredentialsLate}}).Judge(Name, d.gaps); err == nil {
		t.Error("required, missing, and not refused")
	}
}

// Every right that a kernel handles and no rule grants is lost for the command.
func TestGrantedRights(t *testing.T) {
	for abi := 1; abi <= newestABI; abi++ {
		lost := handledRights(abi) &^ (writeRights | readRights)
		if lost != makeChar|makeBlock {
			t.Errorf("ABI %d: a workspace does not give %#x", abi, lost)
		}
	}
}
