package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/config"
	"github.com/sbx-run/sbx/secretsenv"
)

const secretHelp = `sbx secret: the secrets that the configuration refers to.

  sbx secret check                   each of them: can it be found?
  sbx secret check models.main       one setting, or those below it
  sbx secret check --json

A setting refers to a secret by ${NAME}, a variable; exec:COMMAND, what a command prints
within 15 seconds (op read …, pass show …); or file:PATH. The command gets HOME, PATH,
USER, LANG, TERM, SSH_AUTH_SOCK and the variables of secrets.vault_env. It is run when
you ask. No value is printed. A credential that stands in the file itself is shown masked.

  --json            print an object

Exit status: 0 all are found and none stands in clear, 1 otherwise, 2 usage, 125 the
configuration cannot be read.
`

// exitMissing: a secret cannot be found, or one stands in clear.
const exitMissing = 1

// secretCheck is what sbx secret check found.
type secretCheck struct {
	Config     string            `json:"config"`
	References []secretReference `json:"references"`
	Clear      []sbx.InClear     `json:"in_clear"`
}

type secretReference struct {
	Path      string `json:"path"`
	Reference string `json:"reference"`
	Found     bool   `json:"found"`
	Why       string `json:"why,omitempty"`
}

// secretCommand is sbx secret.
func secretCommand(s *streams, args []string) int {
	f := newFlags("secret")
	asJSON := f.Bool("json", false, "")
	err := f.parse(args)
	words := append(f.operands, f.after...)
	switch {
	case errors.Is(err, errHelp):
		s.help(secretHelp)
		return exitOK
	case err != nil:
	case len(words) == 0 || words[0] != "check":
		err = unknownAction("secret", append(words, "")[0], "sbx secret check")
	case len(words) > 2:
		err = usage("too many operands", "sbx secret check takes one setting, or none")
	}
	if err != nil {
		s.fail(err)
		return exitUsage
	}
	found, err := checkSecrets(strings.Join(words[1:], ""))
	if err != nil {
		s.fail(err)
		var wrong *hintedError
		if errors.As(err, &wrong) {
			return exitUsage
		}
		return exitNotStarted
	}
	if *asJSON {
		err = writeJSON(s.out, found)
	} else {
		err = s.showSecrets(found)
	}
	if err != nil {
		s.fail(err)
		return exitNotStarted
	}
	if len(found.Clear) > 0 {
		return exitMissing
	}
	for _, r := range found.References {
		if !r.Found {
			return exitMissing
		}
	}
	return exitOK
}

// checkSecrets looks at the settings at and below key, all of them when it is empty.
func checkSecrets(key string) (secretCheck, error) {
	c := secretCheck{References: []secretReference{}, Clear: []sbx.InClear{}}
	path, err := config.Locate(os.Getenv)
	if err != nil {
		return c, err
	}
	file, err := config.Load(os.Getenv)
	if err != nil || !file.Found {
		c.Config = path
		return c, err
	}
	c.Config = file.Path
	all, err := config.ReadSettings(file.Path)
	if err != nil {
		return c, err
	}
	settings := settingsBelow(all, key)
	if key != "" && len(settings) == 0 {
		return c, noSetting(key, all)
	}
	resolver := secretsenv.NewResolver(os.Environ(), file.VaultEnv)
	for _, at := range settings {
		if !secretsenv.HasReference(at.Value) {
			continue
		}
		r := secretReference{Path: at.Path, Reference: referenceIn(at.Value), Found: true}
		var unset *secretsenv.UnsetError
		if err := resolver.Check(context.Background(), at.Value); errors.As(err, &unset) {
			r.Found, r.Why = false, unset.Why
		}
		c.References = append(c.References, r)
	}
	c.Clear = append(c.Clear, sbx.SettingsInClear(settings)...)
	return c, nil
}

// referenceIn is what a setting refers to. What else stands in a longer text may be
// a password.
func referenceIn(setting string) string {
	if secretsenv.IsReference(setting) {
		return setting
	}
	return "…${" + strings.Join(config.ReferencesIn(setting), "}…${") + "}…"
}

func settingsBelow(settings []config.Setting, key string) []config.Setting {
	var list []config.Setting
	for _, s := range settings {
		rest, ok := strings.CutPrefix(s.Path, key)
		if ok && (key == "" || rest == "" || rest[0] == '.' || rest[0] == '[') {
			list = append(list, s)
		}
	}
	return list
}

func noSetting(key string, settings []config.Setting) error {
	var names []string
	for _, s := range settings {
		names = append(names, s.Path)
	}
	return usage("no text at the setting "+quote(key), meant(key, names, "", "sbx secret check lists those that refer to a secret"))
}

func (s *streams) showSecrets(c secretCheck) error {
	if len(c.References)+len(c.Clear) == 0 {
		_, err := fmt.Fprintln(s.out, "no setting refers to a secret, and none is one")
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, r := range c.References {
		state := "found"
		if !r.Found {
			state = "NOT FOUND: " + r.Why
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", visible(r.Path), visible(r.Reference), visible(state))
	}
	for _, k := range c.Clear {
		fmt.Fprintf(w, "%s\t%s\tIN CLEAR: %s\n", visible(k.Path), visible(k.Masked), k.Why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(c.Clear) > 0 {
		s.say("hint", "what stands in clear was seen by whoever read the file, and by its backups: revoke it, put the new one into a variable or a vault, and write ${NAME}, exec:COMMAND or file:PATH")
	}
	return nil
}
