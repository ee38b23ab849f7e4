package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Controls must list what is declared, in whichever file.
func TestControls(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []Control
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\sControl = "([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			declared = append(declared, Control(m[1]))
		}
	}
	listed := Controls()
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("declared %v, listed %v", declared, listed)
	}
}
