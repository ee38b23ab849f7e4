package secretsenv

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestInClear(t *testing.T) {
	f, err := os.Open("../testdata/secretsenv/clear.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for scan := bufio.NewScanner(f); scan.Scan(); n++ {
		var c struct {
			Key, Value, Note string
			Clear            bool
		}
		if err := json.Unmarshal(scan.Bytes(), &c); err != nil {
			t.Fatalf("%v: %s", err, scan.Text())
		}
		value := expand(t, c.Value)
		if why := InClear(c.Key, value); (why != "") != c.Clear {
			t.Errorf("InClear(%q, %q) = %q, want clear %t", c.Key, value, why, c.Clear)
		}
	}
	if n < 30 {
		t.Errorf("only %d cases", n)
	}
}

func TestMask(t *testing.T) {
	for value, want := range map[string]string{
		"":                       "",
		"hunter2":                "*******",
		"12345678":               "********",
		"123456789":              "1234*6789",
		"ghp_" + alphabet:        "ghp_************wXyZ",
		" ghp_" + alphabet + " ": "ghp_************wXyZ",
		"abc\u00e9fghijk\u00e9":  "abc*******ijk\u00e9", // cut in the middle of a character
	} {
		got := Mask(value)
		if value == "abc\u00e9fghijk\u00e9" {
			if !utf8.ValidString(got) || strings.Contains(got, "fgh") {
				t.Errorf("Mask(%q) = %q", value, got)
			}
			continue
		}
		if got != want {
			t.Errorf("Mask(%q) = %q, want %q", value, got, want)
		}
	}
}
