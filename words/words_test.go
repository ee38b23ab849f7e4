package words

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"check", "exec", "run", "wrapper", "deletes", "network", "json"}
	for word, want := range map[string]string{
		"chekc": "check", "chck": "check", "exce": "exec", "rn": "run", "delets": "deletes", "jsn": "json", "netwrok": "network",
		"ls": "", "x": "", "": "", "something": "", "wrap": "", strings.Repeat("check", 40): "",
	} {
		if got := Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
