package sandbox

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// Controls must list what is declared, in that order.
func TestControls(t *testing.T) {
	text, err := os.ReadFile("sandbox.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []Control
	for _, m := range regexp.MustCompile(`Control = "([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
		declared = append(declared, Control(m[1]))
	}
	if !slices.Equal(declared, Controls()) {
		t.Errorf("declared %v", declared)
	}
}
