package main

import (
	"cmp"
	_ "embed" // for the scripts
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/hook"
	"github.com/sbx-run/sbx/netrules"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/wrappers"
)

const completionHelp = `sbx completion: let the shell complete what is typed.

  source <(sbx completion bash)                          in ~/.bashrc
  source <(sbx completion zsh)                           in ~/.zshrc, after compinit
  sbx completion fish >~/.config/fish/completions/sbx.fish

The script asks this sbx for what fits each time, so it never gets old.

  --name NAME       the program has this name (default: the one it was called by)

Exit status: 0; 2 usage.
`

var (
	//go:embed completion.bash
	completionBash string
	//go:embed completion.zsh
	completionZsh string
	//go:embed completion.fish
	completionFish string
)

// completionName stands in the scripts for the name of the program.
const completionName = "@SBX@"

func completionCommand(s *streams, args []string) int {
	f := newFlags("completion")
	name := f.String("name", cmp.Or(s.name, ownName), "")
	err := f.parse(args)
	scripts := map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}
	switch {
	case errors.Is(err, errHelp):
		s.help(completionHelp)
		return exitOK
	case err != nil:
	case !plainName(*name):
		err = usage("--name "+quote(*name)+" is no name of a program", "a name is made of letters, digits, dots, dashes and underscores")
	case len(f.operands) != 1 || len(f.after) > 0:
		err = usage("want the name of a shell", "sbx completion bash, zsh or fish")
	case scripts[f.operands[0]] == "":
		err = usage("there is no completion for "+quote(f.operands[0]), meant(f.operands[0], slices.Sorted(maps.Keys(scripts)), "sbx completion ", "sbx completion bash, zsh or fish"))
	default:
		fmt.Fprint(s.out, strings.ReplaceAll(scripts[f.operands[0]], completionName, *name))
		return exitOK
	}
	s.fail(err)
	return exitUsage
}

// plainName is one that means nothing else to a shell.
func plainName(name string) bool {
	return name != "" && name[0] != '-' && strings.IndexFunc(name, func(r rune) bool {
		return r != '.' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// completeName is what the scripts call: the words that were typed follow, the last
// of them, which may be empty, is to be completed. One candidate is printed on a
// line, and what else the shell shall offer after a colon.
const completeName = "__complete"

// What the shell offers itself.
const (
	offerNothing  = ""
	offerFiles    = "files"
	offerDirs     = "dirs"
	offerCommands = "commands" // programs, and then files
)

func completeCommand(s *streams, words []string) int {
	candidates, offer := complete(words)
	for _, c := range candidates {
		fmt.Fprintln(s.out, c)
	}
	if offer != offerNothing {
		fmt.Fprintln(s.out, ":"+offer)
	}
	return exitOK
}

// complete gives what fits the last word, and what the shell shall add.
func complete(words []string) (candidates []string, offer string) {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	fitting := func(list []string) []string {
		return slices.DeleteFunc(list, func(c string) bool { return !strings.HasPrefix(c, last) })
	}
	if len(words) == 1 {
		return fitting(append(commandNames(), "help", "--help", "--version")), offerNothing
	}
	if words[0] == "help" {
		return fitting(commandNames()), offerNothing
	}
	i := slices.IndexFunc(commands(), func(c command) bool { return c.name == words[0] })
	if i < 0 {
		return nil, offerFiles
	}
	c := commands()[i]
	flags := flagsIn(c.help)
	if at := slices.Index(words[:len(words)-1], "--"); at >= 0 {
		if at == len(words)-2 {
			return nil, offerCommands
		}
		return nil, offerFiles
	}
	if name, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(last, "--") {
		list, offer := valuesOf(c.name, name, flags[name])
		for i := range list {
			list[i] = name + "=" + list[i]
		}
		_ = value
		return fitting(list), offer
	}
	before := words[len(words)-2]
	if arg := flags[before]; arg != "" {
		list, offer := valuesOf(c.name, before, arg)
		return fitting(behindComma(list, last)), offer
	}
	if strings.HasPrefix(last, "-") {
		list := []string{"--help"}
		for name := range flags {
			list = append(list, name)
		}
		slices.Sort(list)
		return fitting(slices.Compact(list)), offerNothing
	}
	list, offer := operandsOf(c.name, words[1:len(words)-1])
	return fitting(list), offer
}

// behindComma puts what was typed of a list of rules before each further one.
func behindComma(list []string, typed string) []string {
	at := strings.LastIndex(typed, ",")
	if at < 0 || !strings.HasPrefix(typed, "allow:") {
		return list
	}
	var longer []string
	for _, word := range list {
		if rule, ok := strings.CutPrefix(word, "allow:"); ok && rule != "" {
			longer = append(longer, typed[:at+1]+rule)
		}
	}
	return longer
}

func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// flagsIn reads the flags of a help text, with the word for their value: "" where
// they have none.
func flagsIn(help string) map[string]string {
	flags := map[string]string{}
	for line := range strings.Lines(help) {
		head, isFlag := flagLine(line)
		if !isFlag {
			continue
		}
		for part := range strings.SplitSeq(head, ", ") {
			name, arg, _ := strings.Cut(part, " ")
			name, optional, _ := strings.Cut(name, "[=")
			_ = optional // it takes its value behind "=" alone
			flags[name] = arg
		}
	}
	return flags
}

// flagLine gives what stands before the explanation on a line about a flag: two
// blanks, the flag, two blanks at least.
func flagLine(line string) (head string, ok bool) {
	text, ok := strings.CutPrefix(line, "  --")
	if !ok {
		return "", false
	}
	text = "--" + strings.TrimRight(text, "\n")
	head, _, _ = strings.Cut(text, "  ")
	if strings.HasPrefix(head, "-- ") || len(strings.Fields(strings.ReplaceAll(head, ", ", ","))) > 2 {
		// A long flag leaves one blank before its explanation.
		fields := strings.Fields(head)
		head = fields[0]
		if len(fields) > 1 && strings.ToUpper(fields[1]) == fields[1] {
			head += " " + fields[1]
		}
	}
	return head, true
}

// valuesOf are those of a flag. arg is the word for them in the help.
func valuesOf(command, flag, arg string) (list []string, offer string) {
	switch flag {
	case "--backend":
		list = append(sbx.Backends().Names(), sbx.Auto)
		if command == "setup" {
			list = append(wrappers.Kinds(), kindNone)
		}
		return list, offerNothing
	case "--network", "--net":
		list = []string{"off", "on", "auto", "allow:"}
		for _, p := range netrules.Presets() {
			list = append(list, "allow:"+p.Name)
		}
		return list, offerNothing
	case "--accept-gap":
		for _, c := range sandbox.Controls() {
			list = append(list, string(c))
		}
		return list, offerNothing
	case "--tier", "--require":
		return slices.Clone(knownTiers), offerNothing
	case "--fail-on":
		return (^classify.Tags(0)).Names(), offerNothing
	case "--env":
		for _, entry := range os.Environ() {
			name, _, _ := strings.Cut(entry, "=")
			list = append(list, name)
		}
		slices.Sort(list)
		return list, offerNothing
	}
	switch {
	case strings.Contains(arg, "|") && strings.ToLower(arg) == arg: // auto|off
		return strings.Split(arg, "|"), offerNothing
	case arg == "DIR":
		return nil, offerDirs
	case arg == "PATH", arg == "FILE", arg == "FD|FILE":
		return nil, offerFiles
	case arg != "" && strings.ToLower(arg) == arg: // the one word there is
		return []string{arg}, offerNothing
	}
	return nil, offerNothing
}

// actions are the words that the operands of a subcommand begin with.
func actions(command string) []string {
	switch command {
	case "approvals":
		return []string{"list", "show", "approve", "deny"}
	case "grants":
		return []string{"list", "clear"}
	case "policy":
		return []string{"lint", "test", "explain"}
	case "hook":
		return []string{"install", "uninstall"}
	case "image":
		return []string{"build", "show"}
	case "secret":
		return []string{"check"}
	case "completion":
		return []string{"bash", "zsh", "fish"}
	case "wrapper":
		return []string{"list", "show", "install"}
	case "session":
		return []string{"start", "exec", "ls", "stop"}
	case "preview":
		return []string{"ls", "show", "apply", "discard"}
	case "network":
		return []string{"presets"}
	}
	return nil
}

// operandsOf are what may stand where no flag does. before is what stands there
// already, flags among it.
func operandsOf(command string, before []string) (list []string, offer string) {
	var operands []string
	for _, w := range before {
		if !strings.HasPrefix(w, "-") {
			operands = append(operands, w)
		}
	}
	switch {
	case len(operands) == 0 && actions(command) != nil:
		return actions(command), offerNothing
	case command == "wrapper" && len(operands) == 1 && operands[0] != "list":
		if slices.Contains(before, "--standalone") {
			return wrappers.StandaloneKinds(), offerNothing
		}
		return wrappers.Kinds(), offerNothing
	case command == "hook" && len(operands) == 1:
		return hook.Names(), offerNothing
	case command == "session" && operands[0] != "exec", command == "preview", command == "approvals", command == "policy", command == "grants", command == "image", command == "secret":
		return nil, offerNothing
	case command == "rules" && len(operands) == 0:
		for _, row := range allRules() {
			list = append(list, row.ID)
		}
		return list, offerNothing
	case command == "probe" && len(operands) == 0:
		return sbx.Backends().Names(), offerNothing
	case command == "network" && len(operands) > 0:
		for _, p := range netrules.Presets() {
			list = append(list, p.Name)
		}
		return list, offerNothing
	case command == "exec", command == "session":
		return nil, offerCommands
	}
	return nil, offerFiles
}
