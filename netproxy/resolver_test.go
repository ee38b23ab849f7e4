package netproxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sbx-run/sbx/netrules"
)

func ask(t *testing.T, s *Server, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	n, err := dnsmessage.NewName(name)
	if err != nil {
		t.Fatal(err)
	}
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 77, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: n, Type: kind, Class: dnsmessage.ClassINET}},
	}
	query, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	var reply dnsmessage.Message
	if err := reply.Unpack(s.answerName(query)); err != nil {
		t.Fatal(err)
	}
	if reply.ID != 77 || !reply.Response || len(reply.Questions) != 1 || reply.Questions[0].Name != n {
		t.Errorf("%s: %+v", name, reply)
	}
	return reply
}

func namesServer(t *testing.T, rules string) *Server {
	t.Helper()
	policy, err := netrules.Parse(rules)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Policy: policy, Resolver: noResolver{t}, Here: []netip.Addr{}})
	t.Cleanup(s.Close)
	return s
}

// noResolver fails the test: a question asks nobody.
type noResolver struct{ t *testing.T }

func (r noResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.t.Errorf("%s was looked up", host)
	return nil, net.ErrClosed
}

func TestAnswers(t *testing.T) {
	s := namesServer(t, "allow:example.com,*.wild.test,other.test:22,192.0.2.0/24")
	for _, tt := range []struct {
		name string
		kind dnsmessage.Type
		code dnsmessage.RCode
		want string
	}{
		{"example.com.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "198.18.0.1"},
		{"EXAMPLE.com.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "198.18.0.1"}, // the same name
		{"example.com.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, ""},
		{"example.com.", dnsmessage.TypeTXT, dnsmessage.RCodeSuccess, ""},
		{"a.wild.test.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "198.18.0.2"},
		{"wild.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"other.test.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "198.18.0.3"}, // the port is judged when it is known
		{"evil.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"evil.test.", dnsmessage.TypeTXT, dnsmessage.RCodeNameError, ""},
		{"192.0.2.7.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"7.2.0.192.in-addr.arpa.", dnsmessage.TypePTR, dnsmessage.RCodeNameError, ""},
		{strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + "." + strings.Repeat("c", 60) + ".wild.test.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
	} {
		reply := ask(t, s, tt.name, tt.kind)
		got := ""
		if len(reply.Answers) == 1 {
			got = netip.AddrFrom4(reply.Answers[0].Body.(*dnsmessage.AResource).A).String()
		}
		if reply.RCode != tt.code || got != tt.want || len(reply.Answers) > 1 {
			t.Errorf("%s %v: %v %q, want %v %q", tt.name, tt.kind, reply.RCode, got, tt.code, tt.want)
		}
	}
	denials := map[string]int{}
	for _, d := range s.Report().Denials {
		denials[d.Host] = d.Count
	}
	if denials["evil.test"] != 2 || denials["example.com"] != 0 {
		t.Errorf("%v", denials)
	}
}

// A connection to such an address is one to the name.
func TestAddressesStandForNames(t *testing.T) {
	s := namesServer(t, "allow:*")
	ask(t, s, "one.test.", dnsmessage.TypeA)
	ask(t, s, "two.test.", dnsmessage.TypeA)
	for address, want := range map[string]string{
		"198.18.0.1": "one.test:80", "198.18.0.2": "two.test:80", "198.18.0.0": "198.18.0.0:80", "198.18.0.3": "198.18.0.3:80", "198.19.0.1": "198.19.0.1:80",
		"::ffff:198.18.0.1": "one.test:80", "fd00::1": "[fd00::1]:80",
	} {
		if got := s.fakes.target(netrules.AddrTarget(netip.MustParseAddr(address), 80)).String(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

func TestNamesHaveAnEnd(t *testing.T) {
	s := namesServer(t, "allow:*.test")
	for i := range maxFakes {
		if a, ok := s.fakes.address(fmt.Sprintf("n%d.test", i)); !ok || !netip.MustParsePrefix("198.18.0.0/15").Contains(a) {
			t.Fatalf("%d: %v %v", i, a, ok)
		}
	}
	if reply := ask(t, s, "one-more.test.", dnsmessage.TypeA); reply.RCode != dnsmessage.RCodeServerFailure {
		t.Errorf("%v", reply.RCode)
	}
	if got := s.fakes.target(netrules.AddrTarget(netip.AddrFrom4([4]byte{198, 18, 64, 0}), 80)).String(); got != fmt.Sprintf("n%d.test:80", maxFakes-1) {
		t.Errorf("the last one is %s", got)
	}
}

func TestQuestionsThatAreNone(t *testing.T) {
	s := namesServer(t, "allow:*")
	for _, query := range []string{"", "x", strings.Repeat("\x00", 12), strings.Repeat("\xff", 512), "\x00\x01\x80\x00" + strings.Repeat("\x00", 8)} {
		if reply := s.answerName([]byte(query)); reply != nil {
			var m dnsmessage.Message
			if err := m.Unpack(reply); err != nil || m.RCode == dnsmessage.RCodeSuccess {
				t.Errorf("%q: %+v, %v", query, m, err)
			}
		}
	}
}

func FuzzAnswerName(f *testing.F) {
	policy, err := netrules.Parse("allow:*")
	if err != nil {
		f.Fatal(err)
	}
	s := New(Config{Policy: policy, Here: []netip.Addr{}})
	f.Add([]byte("\x00M\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"))
	f.Fuzz(func(_ *testing.T, query []byte) { s.answerName(query) })
}
