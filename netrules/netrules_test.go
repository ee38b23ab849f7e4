package netrules

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"off": "off", "on": "on", "allow:": "allow:", "allow: ": "allow:",
		"allow:example.com":               "allow:example.com",
		"allow: Example.COM. , a.test:22": "allow:example.com,a.test:22",
		"allow:*.example.com:*":           "allow:*.example.com:*",
		"allow:*":                         "allow:*",
		"allow:*:8443":                    "allow:*:8443",
		"allow:a.test:8000-8010":          "allow:a.test:8000-8010",
		"allow:10.1.0.0/16":               "allow:10.1.0.0/16",
		"allow:10.1.2.3:5432":             "allow:10.1.2.3:5432",
		"allow:2001:DB8::1":               "allow:2001:db8::1",
		"allow:[2001:db8::1]:22":          "allow:[2001:db8::1]:22",
		"allow:[2001:db8::1]":             "allow:2001:db8::1",
		"allow:fd00::/8":                  "allow:fd00::/8",
		"allow:[fd00::/8]:443":            "allow:[fd00::/8]:443",
		"allow:::ffff:10.0.0.1":           "allow:10.0.0.1",
		"allow:::ffff:10.0.0.0/104":       "allow:10.0.0.0/8",
		"allow:a.test,a.test":             "allow:a.test",
		"allow:npm,git":                   "allow:npm,git",
		"allow:git:9418":                  "allow:git:9418", // a host of that name
		"allow:my_host":                   "allow:my_host",
		"allow:bücher.example":            "allow:xn--bcher-kva.example",
		"allow:*.münchen.example:22":      "allow:*.xn--mnchen-3ya.example:22",
	} {
		p, err := Parse(text)
		if err != nil || p.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, p, err, want)
			continue
		}
		again, err := Parse(p.String())
		if err != nil || again.String() != want || !slices.Equal(again.Rules(), p.Rules()) {
			t.Errorf("%q printed and read again: %q, %v", text, again, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 `want "off", "on" or "allow:HOST,…"`,
		"none":                             `want "off", "on" or "allow:HOST,…"`,
		"ON":                               `want "off", "on" or "allow:HOST,…"`,
		"allow":                            `want "off", "on" or "allow:HOST,…"`,
		"allow:a.test,":                    `rule "": it is empty`,
		"allow:,":                          "it is empty",
		"allow:https://a.test":             "it is a URL",
		"allow:u@a.test":                   "it is a URL",
		"allow:a.test/path":                "want a block of addresses",
		"allow:a..test":                    "empty part",
		"allow:.":                          "the host is empty",
		"allow:.a.test":                    "empty part",
		"allow:a.test:":                    `port ""`,
		"allow:a.test:0":                   `port "0"`,
		"allow:a.test:65536":               `port "65536"`,
		"allow:a.test:99999999999999":      "want a number from 1 to 65535",
		"allow:a.test:+80":                 `port "+80"`,
		"allow:a.test:http":                `port "http"`,
		"allow:a.test:90-80":               "the first is larger",
		"allow::80":                        "the host is missing",
		"allow:*.":                         "the host is empty",
		"allow:*a.test":                    `"*" stands alone`,
		"allow:a.*.test":                   `"*" stands alone`,
		"allow:*.*":                        `"*" stands alone`,
		"allow:**":                         `"*" stands alone`,
		"allow:a b.test":                   "the character ' '",
		"allow:a\x00.test":                 `the character '\x00'`,
		"allow:a\r\n.test":                 `the character '\r'`,
		"allow:a%2etest":                   "the character '%'",
		"allow:127.1":                      "want an address like",
		"allow:2130706433":                 "want an address like",
		"allow:0x7f000001":                 "want an address like",
		"allow:010.0.0.1":                  "want an address like",
		"allow:*.1":                        "want an address like",
		"allow:a.test.1":                   "want an address like",
		"allow:10.1.2.3/16":                "write 10.1.0.0/16",
		"allow:10.1.0.0/33":                "want a block",
		"allow:fe80::1%eth0":               "zone",
		"allow:[::1":                       "not closed",
		"allow:[a.test]":                   "brackets are for IPv6",
		"allow:[::1]80":                    "want :PORT",
		"allow:::ffff:0:0/90":              "as such",
		"allow:BÜCHER.example":             "no certain form",
		"allow:bu\u0308cher.example":       "no certain form", // u and a combining mark
		"allow:ﬁle.example":                "no certain form", // a ligature
		"allow:a。test":                     "no certain form", // an ideographic dot
		"allow:" + strings.Repeat("a", 64): "64 characters",
		"allow:" + strings.Repeat("a.", 126) + "test": "at most 253",
	} {
		if p, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", text, p, err, want)
		}
	}
}

// Expected forms: RFC 3492 section 7.1 and names that are registered.
func TestPunycode(t *testing.T) {
	for in, want := range map[string]string{
		"bücher": "bcher-kva", "faß": "fa-hia", "例え": "r8jz45g", "пример": "e1afmkfd", "中国": "fiqs8s", "한국": "3e0b707e",
		"ليهمابتكلموشعربي؟": "egbpdaj6bu4bxfgehfvwxn", "他们为什么不说中文": "ihqwcrb4cv8a8dqg056pqjye",
		"почемужеонинеговорятпорусски": "b1abfaaepdrnnbgefbadotcwatmq2g4l",
		"3年b組金八先生": "3b-ww4c5e180e575a65lsy2b", "パフィーdeルンバ": "de-jg4avhby1noc0d", "そのスピードで": "d9juau41awczczp",
	} {
		if got := punycode(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

var here = []netip.Addr{netip.MustParseAddr("203.0.114.9"), netip.MustParseAddr("10.9.9.9")}

// judge is the way of a proxy: read the target, judge it, look it up, judge.
func judge(t *testing.T, policy, target string, addrs ...string) Decision {
	t.Helper()
	p, err := Parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	to, err := ParseTarget(target, 443)
	if err != nil {
		return Decision{Rule: "bad target", Why: err.Error()}
	}
	if d := p.Judge(to, here); !d.Allowed || to.Addr.IsValid() {
		return d
	}
	var list []netip.Addr
	for _, a := range addrs {
		list = append(list, netip.MustParseAddr(a))
	}
	return p.JudgeAddrs(to, list, here)
}

const public = "93.184.216.34"

func TestNames(t *testing.T) {
	const list = "allow:example.com,*.wild.test,a.test:8080,git,x.test:*"
	for target, rule := range map[string]string{
		"example.com:443": "example.com", "EXAMPLE.com.:80": "example.com", "a.wild.test:443": "*.wild.test",
		"a.b.wild.test:443": "*.wild.test", "a.test:8080": "a.test:8080", "github.com:22": "git (github.com:22)", "x.test:1": "x.test:*",
	} {
		if d := judge(t, list, target, public); !d.Allowed || d.Rule != rule || len(d.Addrs) != 1 {
			t.Errorf("%s: %+v, want rule %s", target, d, rule)
		}
	}
	for target, rule := range map[string]string{
		"example.com:22": RulePort, "wild.test:443": RuleNotListed, "evilwild.test:443": RuleNotListed, "wild.test.evil.test:443": RuleNotListed,
		"a.test:443": RulePort, "sub.example.com:443": RuleNotListed, "example.com.evil.test:443": RuleNotListed, "xexample.com:443": RuleNotListed,
		"github.com:80": RulePort, public + ":443": RuleNotListed,
		strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + ".wild.test:443": RuleLongName,
	} {
		d := judge(t, list, target, public)
		if d.Allowed || d.Rule != rule || d.Why == "" || !strings.Contains(d.Allow, "--network allow:") {
			t.Errorf("%s: %+v, want %s", target, d, rule)
		}
	}
	for _, policy := range []string{"off", "allow:"} {
		if d := judge(t, policy, "example.com:443", public); d.Allowed {
			t.Errorf("%s: %+v", policy, d)
		}
	}
	if d := judge(t, "on", "169.254.169.254:80"); !d.Allowed {
		t.Errorf("on: %+v", d)
	}
	if d := judge(t, list, "example.com:443"); d.Allowed || d.Rule != RuleNoAddress {
		t.Errorf("without an address: %+v", d)
	}
}

// What is no clean host and port is no target.
func TestTargetsThatAreRefused(t *testing.T) {
	for _, target := range []string{
		"", ":443", "example.com\x00:443", "example.com\x00.evil.test:443", "example.com\r\n:443", "example.com\r\nHost: x:443", "a b:443",
		"example.com..:443", "..:443", "user@example.com:443", "example.com:443@evil.test:443", "example.com/evil:443", "example%2ecom:443",
		"example.com:0", "example.com:65536", "example.com:+443", "example.com: 443", "example.com:443 ", "example.com:443:443", "example.com:",
		"[::1", "[::1]443", "[127.0.0.1]:443", "[fe80::1%eth0]:443", "[fe80::1%25eth0]:443", "::1:443x", "1.2.3.4.5:443", "256.1.1.1:443",
		"1.2.3.0x1ffffffff:443", "0x:443:", "bücher.example:443", "example。com:443", "1.2.3.08:443", "999999999999:443",
		strings.Repeat("a", 64) + ".test:443", strings.Repeat("a.", 130) + "test:443", strings.Repeat("a", 70000) + ":443",
	} {
		if to, err := ParseTarget(target, 0); err == nil {
			t.Errorf("%q: taken as %+v", target, to)
		}
	}
}

// Each of these leads to what no list opens by naming hosts, however it is
// written. The same forms of a public address are let through.
func TestSpecialAddresses(t *testing.T) {
	for target, rule := range map[string]string{
		"169.254.169.254": "metadata address", "2852039166": "metadata address", "0xa9fea9fe": "metadata address", "0xA9.0xFE.0xA9.0xFE": "metadata address",
		"0251.0376.0251.0376": "metadata address", "169.254.43518": "metadata address", "169.16689662": "metadata address", "169.254.169.254.": "metadata address",
		"[::ffff:169.254.169.254]": "metadata address", "[::ffff:a9fe:a9fe]": "metadata address", "[64:ff9b::a9fe:a9fe]": "metadata address",
		"[2002:a9fe:a9fe::1]": "metadata address", "[::a9fe:a9fe]": "metadata address", "[::ffff:0:a9fe:a9fe]": "metadata address",
		"[2606:4700::5efe:a9fe:a9fe]": "metadata address", "[2606:4700::200:5efe:a9fe:a9fe]": "metadata address",
		"168.63.129.16": "metadata address", "100.100.100.200": "metadata address", "[fd00:ec2::254]": "metadata address", "[fd20:ce::254]": "metadata address",
		"127.0.0.1": "loopback address", "127.1": "loopback address", "0x7f.1": "loopback address", "017700000001": "loopback address", "2130706433": "loopback address",
		"127.255.255.254": "loopback address", "0": "loopback address", "0.0.0.0": "loopback address", "[::]": "loopback address", "[::1]": "loopback address",
		"[0:0:0:0:0:0:0:1]": "loopback address", "[::ffff:7f00:1]": "loopback address", "[64:ff9b::127.0.0.1]": "loopback address",
		"10.0.0.1": "private address", "012.0.0.1": "private address", "172.31.255.255": "private address", "192.168.1.1": "private address", "100.64.0.1": "private address",
		"169.254.1.1": "private address", "[fe80::1]": "private address", "[fc00::1]": "private address", "[fd12::1]": "private address", "[64:ff9b:1::1]": "private address",
		"[64:ff9b::a00:1]": "private address", "[2002:c0a8:101::]": "private address",
		"224.0.0.1": "special address", "255.255.255.255": "special address", "[ff02::1]": "special address", "[2001::1]": "special address", "203.0.113.1": "special address",
		"203.0.114.9": RuleThisHost, "10.9.9.9": RuleThisHost, "[::ffff:203.0.114.9]": RuleThisHost,
	} {
		for _, policy := range []string{"allow:*:*", "allow:*", "allow:0.0.0.0/0,::/0", "allow:0.0.0.0/1,128.0.0.0/1,2000::/3,::/1,8000::/1"} {
			d := judge(t, policy, target+":443")
			if d.Allowed || d.Rule != rule || d.Allow == "" {
				t.Errorf("%s under %s: %+v, want %s", target, policy, d, rule)
			}
		}
	}
	for _, target := range []string{public, "1572395042", "0x5db8d822", "[::ffff:" + public + "]", "[64:ff9b::5db8:d822]", "[2606:2800:220:1::1]", "100.128.0.1", "172.32.0.1", "169.253.0.1"} {
		if d := judge(t, "allow:*", target+":443"); !d.Allowed || len(d.Addrs) != 1 {
			t.Errorf("%s: %+v", target, d)
		}
	}
}

// A name does not open what it points to.
func TestNamesThatPointInside(t *testing.T) {
	for _, policy := range []string{"allow:*", "allow:rebind.test", "allow:*.test,rebind.test", "allow:rebind.test:*,10.0.0.1:99"} {
		for _, a := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "0.0.0.0", "10.9.9.9"} {
			if d := judge(t, policy, "rebind.test:443", a); d.Allowed || !strings.Contains(d.Why, "it resolves to") || d.Allow == "" {
				t.Errorf("%s at %s: %+v", policy, a, d)
			}
		}
	}
	d := judge(t, "allow:rebind.test", "rebind.test:443", "10.0.0.1", public, "::1")
	if !d.Allowed || len(d.Addrs) != 1 || d.Addrs[0].String() != public {
		t.Errorf("a mixed answer: %+v", d)
	}
}

func TestListedAddresses(t *testing.T) {
	for _, c := range []struct {
		policy, target string
		addrs          []string
		want           bool
	}{
		{"allow:10.0.0.0/8", "10.0.0.1:443", nil, true},
		{"allow:10.0.0.0/8", "10.0.0.1:22", nil, false},
		{"allow:10.0.0.0/8:*", "10.0.0.1:22", nil, true},
		{"allow:10.0.0.0/8", "11.0.0.1:443", nil, false},
		{"allow:10.0.0.0/8", "[::ffff:10.0.0.1]:443", nil, true},
		{"allow:10.0.0.0/8:*", "10.9.9.9:443", nil, false}, // this host
		{"allow:10.9.9.9", "10.9.9.9:443", nil, true},
		{"allow:203.0.114.9", "203.0.114.9:443", nil, true},
		{"allow:203.0.114.0/24", "203.0.114.9:443", nil, false},
		{"allow:127.0.0.1:8080", "127.0.0.1:8080", nil, true},
		{"allow:127.0.0.1:8080", "127.1:8080", nil, true},
		{"allow:127.0.0.1:8080", "127.0.0.1:8081", nil, false},
		{"allow:127.0.0.1:8080", "127.0.0.2:8080", nil, false},
		{"allow:169.254.0.0/16", "169.254.169.254:80", nil, false}, // a block does not name the service in it
		{"allow:169.254.169.254", "169.254.169.254:80", nil, true},
		{"allow:a.corp.test,10.0.0.0/8", "a.corp.test:443", []string{"10.0.0.1"}, true},
		{"allow:a.corp.test,10.0.0.0/8", "b.corp.test:443", []string{"10.0.0.1"}, false},
		{"allow:a.corp.test,10.0.0.0/8", "a.corp.test:443", []string{"192.168.0.1"}, false},
		{"allow:[2001:db8::/32]:443", "[2001:db8::1]:443", nil, true},
		{"allow:*,10.1.2.3:5432", "10.1.2.3:5432", nil, true},
		{"allow:*,10.1.2.3:5432", "10.1.2.3:443", nil, false},
	} {
		if d := judge(t, c.policy, c.target, c.addrs...); d.Allowed != c.want {
			t.Errorf("%s to %s %v: %+v", c.policy, c.target, c.addrs, d)
		}
	}
}

func TestNarrow(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"off", "on", "off"},
		{"off", "allow:*", "off"},
		{"on", "on", "on"},
		{"on", "allow:a.test", "allow:a.test"},
		{"on", "allow:git", "allow:git"},
		{"allow:a.test", "allow:b.test", "allow:"},
		{"allow:a.test,b.test", "allow:b.test,c.test", "allow:b.test"},
		{"allow:*.a.test", "allow:x.a.test,a.test,x.b.test", "allow:x.a.test"},
		{"allow:*.a.test", "allow:*.x.a.test,*.test", "allow:*.x.a.test,*.a.test"},
		{"allow:*", "allow:a.test:22,*.b.test", "allow:*.b.test"},
		{"allow:*:*", "allow:a.test:22,*.b.test", "allow:a.test:22,*.b.test"},
		{"allow:a.test", "allow:a.test:443", "allow:a.test:443"},
		{"allow:a.test", "allow:a.test:1-100", "allow:a.test:80"},
		{"allow:a.test:1-50", "allow:a.test:40-100", "allow:a.test:40-50"},
		{"allow:10.0.0.0/8", "allow:10.1.0.0/16,11.0.0.0/8", "allow:10.1.0.0/16"},
		{"allow:*", "allow:10.0.0.0/8,93.184.216.34", "allow:93.184.216.34"},
		{"allow:10.0.0.0/8", "allow:a.test", "allow:"},
		{"allow:npm,pypi", "allow:pypi.org", "allow:pypi.org:443"},
	} {
		a, err := Parse(c.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse(c.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Narrow(b).String(); got != c.want {
			t.Errorf("%s and %s: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

func TestPresets(t *testing.T) {
	if !slices.IsSortedFunc(Presets(), func(a, b Preset) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("presets are not sorted")
	}
	for _, p := range Presets() {
		list, err := Parse("allow:" + p.Name)
		if err != nil || len(list.Rules()) != len(p.Hosts) {
			t.Errorf("%s: %v, %v", p.Name, list.Rules(), err)
		}
		for i, h := range p.Hosts {
			if h.Why == "" || list.Rules()[i].String() != h.Rule {
				t.Errorf("%s: %+v is read as %s", p.Name, h, list.Rules()[i])
			}
		}
	}
}

func TestZeroValueRefuses(t *testing.T) {
	if d := (Policy{}).Judge(Target{Name: "example.com", Port: 443}, nil); d.Allowed || d.Rule != RuleOff {
		t.Errorf("%+v", d)
	}
	if (Decision{}).Allowed {
		t.Error("the zero decision allows")
	}
}

// Whatever is read is judged the same when it is printed and read again, and no
// target that a list of everything lets through leads inside.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{"example.com:443", "0x7f.1:80", "[::ffff:1.2.3.4]:1", "A_b.C.:9", "017700000001:80", "[64:ff9b::1]:443"} {
		f.Add(s, "allow:*:*")
	}
	f.Add("git:9418", "allow:git,*.x.test,10.0.0.0/8:1-3,[::1]:22,bücher.example")
	f.Fuzz(func(t *testing.T, target, policy string) {
		p, err := Parse(policy)
		if err == nil {
			again, err := Parse(p.String())
			if err != nil || again.String() != p.String() {
				t.Fatalf("%q printed %q, read as %q, %v", policy, p, again, err)
			}
		}
		to, err := ParseTarget(target, 0)
		if err != nil {
			return
		}
		again, err := ParseTarget(to.String(), 0)
		if err != nil || again != to {
			t.Fatalf("%q is %+v; printed and read %+v, %v", target, to, again, err)
		}
		wide, _ := Parse("allow:*:*")
		d := wide.Judge(to, nil)
		if narrow := wide.Narrow(p).Judge(to, nil); narrow.Allowed && !p.Judge(to, nil).Allowed {
			t.Fatalf("%q narrows to more than it is", policy)
		}
		if a := to.Addr; d.Allowed && a.IsValid() && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified()) {
			t.Fatalf("%q leads to %s", target, a)
		}
	})
}
