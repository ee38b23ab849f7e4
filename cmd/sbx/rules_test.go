package main

import (
	"os"
	"testing"
)

// docs/rules.md is what sbx rules --markdown prints; -update writes it.
func TestRulesDocument(t *testing.T) {
	const file = "../../docs/rules.md"
	got := rulesMarkdown(allRules())
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what sbx rules --markdown prints: make generate", file)
	}
}
