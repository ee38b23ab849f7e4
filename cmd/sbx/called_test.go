package main

import "testing"

func TestNameOf(t *testing.T) {
	for arg, want := range map[string]string{
		"sbx": "sbx", "/usr/local/bin/sbx2": "sbx2", "./my.sbx": "my.sbx", "sbx2-exec": "sbx2", "/x/sbx-exec": "sbx",
		"": "sbx", "-sbx": "sbx", "/opt/it's": "sbx", "-exec": "sbx",
	} {
		if got := nameOf(arg); got != want {
			t.Errorf("%q: %q, want %q", arg, got, want)
		}
	}
}

func TestUnderName(t *testing.T) {
	for text, want := range map[string]string{
		"sbx setup":                               "box setup",
		"sbx doctor --live says more":             "box doctor --live says more",
		"measured by `sbx probe`":                 "measured by `box probe`",
		"source <(sbx completion bash)":           "source <(box completion bash)",
		"sbx --help, sbx SUBCOMMAND --help":       "box --help, box SUBCOMMAND --help",
		"sbx setup, sbx help; sbx preview a|b":    "box setup, box help; box preview a|b",
		"the path of sbx-exec (sbx wrapper list)": "the path of box-exec (box wrapper list)",
		"~/.config/fish/completions/sbx.fish":     "~/.config/fish/completions/box.fish",
		"sbx refused this":                        "sbx refused this",
		"sbx: refused: x":                         "sbx: refused: x",
		`{"sbx": {"network": "off"}}`:             `{"sbx": {"network": "off"}}`,
		`unknown subcommand "sbx setup"`:          `unknown subcommand "sbx setup"`,
		"sbx.network, .sbx.json, /opt/sbx setup":  "sbx.network, .sbx.json, /opt/sbx setup",
		"sbx-executor, sbx-proxy, mysbx setup":    "sbx-executor, sbx-proxy, mysbx setup",
		"sbx setups, sbx":                         "sbx setups, sbx",
	} {
		if got := underName(text, "box"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		for _, same := range []string{"", ownName} {
			if got := underName(text, same); got != text {
				t.Errorf("%q under its own name: %q", text, got)
			}
		}
	}
}
