package accounts

import (
	"reflect"
	"testing"
)

func TestParseUser(t *testing.T) {
	for line, want := range map[string]User{
		"ann:x:1000:1001:Ann,,:/home/ann:/bin/bash\n": {"ann", 1000, 1001, "/home/ann", "/bin/bash"},
		"ann:x:1000:1001::/home/ann":                  {"ann", 1000, 1001, "/home/ann", ""},
		"ann:x:1000:1001":                             {"ann", 1000, 1001, "", ""},
		"ann::0:4294967295::/:\r\n":                   {"ann", 0, 4294967295, "/", ""},
	} {
		if got, ok := ParseUser(line); !ok || got != want {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "\n", "ann", "ann:x:1000", "#ann:x:1:1:::", ":x:1:1:::", "+::::::", "ann:x:one:1:::", "ann:x:-1:1:::", "ann:x:4294967296:1:::", "ann:x:1: 1:::"} {
		if got, ok := ParseUser(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func TestParseGroup(t *testing.T) {
	for line, want := range map[string]Group{
		"staff:x:50:\n":        {"staff", 50, nil},
		"staff:x:50:ann,bob\n": {"staff", 50, []string{"ann", "bob"}},
	} {
		if got, ok := ParseGroup(line); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "staff:x:50", "#staff:x:50:", "staff:x:fifty:", "+:::"} {
		if got, ok := ParseGroup(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
