package docker

import "testing"

func TestListed(t *testing.T) {
	const text = "ada:100000:65536\n1002:165536:65536\n# bob:1:1\n:5:5\n"
	for _, c := range []struct {
		name, uid string
		want      bool
	}{{"ada", "1001", true}, {"eve", "1002", true}, {"bob", "1003", false}, {"", "1004", false}, {"ad", "100000", false}} {
		if got := listed(text, c.name, c.uid); got != c.want {
			t.Errorf("%q %s: %v", c.name, c.uid, got)
		}
	}
}
