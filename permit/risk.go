package permit

import (
	"path"
	"slices"
	"strings"

	"github.com/sbx-run/sbx/classify"
)

// Risks beside the tags of package classify.
const (
	WritesSkill  = "writes_skill"
	FlaggedSkill = "flagged_skill"
)

// Label says a risk in English; "" for one that is not known.
func Label(risk string) string {
	if tag, ok := classify.Parse(risk); ok {
		return tag.Label(classify.English)
	}
	switch risk {
	case WritesSkill:
		return "adds or changes a skill"
	case FlaggedSkill:
		return "a skill whose content looks unsafe"
	}
	return ""
}

// Call is one use of a tool that an agent asks for.
type Call struct {
	Tool string
	Args map[string]any // decoded from JSON
	// Tags are those of the command, for the tools that run one (see Command).
	Tags classify.Tags
	// More are risks that the tool itself declares.
	More []string

	// Argv and Files are what rules look at in a command: the words of each
	// program that it runs, and the files it is redirected to or from.
	Argv  [][]string
	Files []string

	// Scripts stands for the text of the scripts that the command runs by name: it
	// changes when one of them does. "" when there are none.
	Scripts string
}

// tools are the calls whose risks are known without looking at a command. A tool
// without a row is risky whatever it is called with.
var tools = [...]struct {
	name  string
	class class
	risk  classify.Tags // of every call
}{
	{"read_file", safe, 0},
	{"list_dir", safe, 0},
	{"fetch_url", safe, 0},
	{"web_search", safe, 0},
	{"config_get", safe, 0},
	{"skill", safe, 0},
	{"docs", safe, 0},
	{"doctor", safe, 0},
	{"scan_skill", safe, 0},
	{"send_to_agent", safe, 0},

	{"bash", command, 0},
	{"run_script", command, 0},

	{"write_file", risky, classify.WritesFile},
	{"edit_file", risky, classify.WritesFile},
	{"move_file", risky, classify.WritesFile},
	{"browser", risky, classify.Network},
	{"config_set", risky, classify.ChangesConfig},
	{"enable_tool", risky, classify.ChangesConfig},
	{"set_route", risky, classify.ChangesConfig},
	{"rename_agent", risky, classify.ChangesConfig},
}

// class is what a tool needs before it may run.
type class uint8

const (
	risky   class = iota // a grant or an answer, also without a risk
	command              // nothing when it flags no risk and somebody could have been asked
	safe                 // nothing when it flags no risk
)

func classOf(tool string) (class, classify.Tags) {
	for _, t := range tools {
		if t.name == tool {
			return t.class, t.risk
		}
	}
	return risky, 0
}

// Risks names what a call flags, each once: what the tool always does, what its
// paths say, what its command does.
func (c Call) Risks() []string {
	_, always := classOf(c.Tool)
	risks := always.Names()
	add := func(more ...string) {
		for _, r := range more {
			if !slices.Contains(risks, r) {
				risks = append(risks, r)
			}
		}
	}
	switch c.Tool {
	case "read_file", "list_dir":
		if p, given := c.Args["path"]; given && !inside(p) {
			add(classify.ReadsOutside.String())
		}
	case "write_file", "edit_file":
		add(written(c.Args["path"])...)
	case "move_file":
		add(written(c.Args["from"])...)
		add(written(c.Args["to"])...)
	}
	add(c.Tags.Names()...)
	add(c.More...)
	return risks
}

// inside says whether an argument is a path in the workspace by its text. What
// is no string is judged by nobody who resolves it later, so it is not.
func inside(v any) bool {
	p, ok := v.(string)
	return ok && !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && !strings.ContainsAny(p, "\\\x00") &&
		!slices.Contains(strings.Split(p, "/"), "..")
}

// written names the risks of writing at a path. Plugins are code that the agent
// itself runs, skills are texts that it believes.
func written(v any) []string {
	if v == nil {
		return nil
	}
	if !inside(v) {
		return []string{classify.WritesOutside.String()}
	}
	first, _, _ := strings.Cut(path.Clean(v.(string)), "/")
	switch first {
	case "plugins":
		return []string{classify.WritesOutside.String()}
	case "skills":
		return []string{WritesSkill}
	}
	return nil
}

// shellLike says whether the command of a call is read by package classify: a
// script of another language is not, so that no tags means nothing there.
func (c Call) shellLike() bool {
	if c.Tool != "run_script" {
		return c.Tool == "bash"
	}
	language, given := c.Args["language"]
	if !given {
		file, _ := c.Args["file"].(string)
		return strings.HasSuffix(file, ".sh")
	}
	name, _ := language.(string)
	name = strings.ToLower(name)
	return name == "bash" || name == "sh"
}
