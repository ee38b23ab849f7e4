package permit

import (
	"encoding/json"
	"slices"
	"strings"
)

// Prompt is a question to a person, in parts, so that a terminal and a chat show
// the same. Nothing in it is shortened: what is cut could be what matters.
// The texts of the call are as the agent wrote them, control characters and all;
// who shows them has to make them visible.
type Prompt struct {
	Tool     string
	Question string
	Subject  string   // the command, or the arguments as JSON
	Risks    []string // as in a grant
	Labels   []string // the same for people
	Missing  []string // of Risks: what no grant of the tool names
	Scope    string   // what an answer for longer than once will cover
	Taint    string   // only in a tainted run
	Policy   string   // a policy's reason
	ByPolicy bool
	Options  []Option
}

// Option is one answer to choose from.
type Option struct {
	Decision    Decision
	Label       string
	Recommended bool
}

func prompt(c Call, ctx Context, risks []string, policy bool) *Prompt {
	p := &Prompt{
		Tool: c.Tool, Question: "Allow me to run the `" + c.Tool + "` tool?", Subject: c.Subject(),
		Risks: set(risks), ByPolicy: policy, Options: options(c.Tool, risks, ctx),
	}
	for _, r := range p.Risks {
		p.Labels = append(p.Labels, labels([]string{r}, Label))
	}
	p.Missing = missing(p.Tool, p.Risks, ctx)
	if len(p.Risks) == 0 {
		p.Scope = "An answer for longer than once covers calls of this tool that flag no risk; anything else asks again."
	} else {
		p.Scope = "An answer for longer than once covers calls of this tool that flag nothing but: " + strings.Join(p.Labels, ", ") + ". Anything else asks again."
	}
	if ctx.Tainted {
		p.Taint = "Content from outside has entered this run, so that earlier answers do not count."
		if ctx.KeepsRun {
			p.Taint += " \"This run\" allows calls of this shape until it ends."
		}
	}
	if policy {
		p.Policy = ctx.Policy.reason()
	}
	return p
}

// missing lists the risks that were never granted to a tool, in whatever list.
func missing(tool string, risks []string, ctx Context) []string {
	var left []string
	for _, r := range risks {
		if !slices.ContainsFunc([][]string{ctx.Always, ctx.InSession, ctx.InRun}, func(grants []string) bool { return Covers(grants, tool, []string{r}) }) {
			left = append(left, r)
		}
	}
	return left
}

// options lists the answers that mean something here.
func options(tool string, risks []string, ctx Context) []Option {
	list := []Option{{Decision: Once, Label: "this call only"}}
	if !rememberable(tool, risks) {
		ctx.KeepsRun, ctx.KeepsSession, ctx.KeepsAlways = false, false, false
	}
	if ctx.Tainted && ctx.KeepsRun {
		list = append(list, Option{Decision: ThisRun, Label: "such calls, until this run ends", Recommended: true})
	}
	if !ctx.Tainted && ctx.KeepsSession && ctx.Session != "" {
		list = append(list,
			Option{Decision: Session, Label: "such calls, in this session"},
			Option{Decision: SessionAny, Label: "every call of " + tool + ", in this session"})
	}
	if !ctx.Tainted && ctx.KeepsAlways {
		list = append(list, Option{Decision: Always, Label: "such calls, from now on"})
	}
	return append(list, Option{Decision: Deny, Label: "no"})
}

// Subject is what a call is about: the command or the code, else all arguments.
func (c Call) Subject() string {
	name := "command"
	if c.Tool == "run_script" {
		name = "code"
	}
	if text, ok := c.Args[name].(string); ok && slices.Contains([]string{"bash", "run_script"}, c.Tool) {
		return text
	}
	if len(c.Args) == 0 {
		return ""
	}
	text, err := json.Marshal(c.Args)
	if err != nil { // nothing that JSON cannot hold was decoded from it
		return "(arguments that cannot be shown)"
	}
	return string(text)
}
