package hook

import (
	"errors"
	"fmt"
	"path"
)

// Event is an agent's question, decoded.
type Event struct {
	Name string // the agent's name of the event
	Tool string
	// Shell says that a command is about to run. Nothing below is set otherwise.
	Shell   bool
	Foreign string // the command's language, when sbx does not read it
	Command string
	Cwd     string   // where the command will run; "" when the agent does not say
	Roots   []string // the agent's workspace folders, when it names them
	Mode    string   // the agent's permission mode, when it names one

	// input is the tool's input as it came, and the place of the command in it,
	// quotes included. A rewritten command goes there; all else stays.
	input      string
	start, end int
}

// replaced is the tool's input with another command.
func (e Event) replaced(command string) string {
	return e.input[:e.start] + string(appendJSON(nil, command)) + e.input[e.end:]
}

// Decode reads an event. An error means that the event must be refused.
func (p Protocol) Decode(src []byte) (Event, error) {
	root, err := parseJSON(src, false)
	if err != nil {
		return Event{}, err
	}
	f := fields{src: src, of: root}
	if root.kind != object {
		return Event{}, errors.New("it is no JSON object")
	}
	e := Event{Name: f.need("hook_event_name")}
	kind, known := p.eventOf(e.Name)
	if f.err != nil || !known {
		return e, f.err
	}
	e.Name = kind.name
	input := root
	if len(kind.tools) > 0 {
		e.Tool = f.need("tool_name")
		t, known := kind.toolOf(e.Tool)
		if f.err != nil || !known {
			return e, f.err
		}
		if input = f.object("tool_input"); f.err != nil {
			return e, f.err
		}
		if t.instead != "" && input.member("command") == nil && input.member(t.instead) != nil {
			return e, nil
		}
		e.Foreign = t.foreign
	}
	e.Shell = true
	p.fill(&e, &f, input)
	return e, f.err
}

// fill decodes what belongs to a command.
func (p Protocol) fill(e *Event, f *fields, input *node) {
	e.Cwd = f.optional("cwd")
	e.Mode = f.optional("permission_mode")
	e.Roots = f.strings("workspace_roots")
	in := fields{src: f.src, of: input}
	e.Command = in.need("command")
	for _, name := range p.directory {
		if dir := in.optional(name); dir != "" {
			e.Cwd = below(e.Cwd, dir)
		}
	}
	if in.err != nil {
		f.err = in.err
		return
	}
	command := input.member("command")
	e.input = string(f.src[input.start:input.end])
	e.start, e.end = command.start-input.start, command.end-input.start
}

// below is dir as seen from cwd; "" when that is not known.
func below(cwd, dir string) string {
	switch {
	case path.IsAbs(dir):
		return path.Clean(dir)
	case path.IsAbs(cwd):
		return path.Join(cwd, dir)
	}
	return ""
}

// fields takes members out of an object and keeps the first error.
type fields struct {
	src []byte
	of  *node
	err error
}

func (f *fields) fail(name, what string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s %s", name, what)
	}
}

// need is a string that must be there.
func (f *fields) need(name string) string {
	n := f.of.member(name)
	switch {
	case n == nil:
		f.fail(name, "is missing")
		return ""
	case n.kind != text:
		f.fail(name, "is no string")
		return ""
	}
	v := n.str(f.src)
	if v == "" && name != "command" { // an empty command is one that does nothing
		f.fail(name, "is empty")
	}
	return v
}

// optional is a string that may be missing or null, which is "".
func (f *fields) optional(name string) string {
	n := f.of.member(name)
	switch {
	case n == nil || n.isNull(f.src):
		return ""
	case n.kind != text:
		f.fail(name, "is no string")
		return ""
	}
	return n.str(f.src)
}

func (f *fields) object(name string) *node {
	n := f.of.member(name)
	switch {
	case n == nil:
		f.fail(name, "is missing")
	case n.kind != object:
		f.fail(name, "is no object")
	}
	return n
}

// strings is a list of strings that may be missing or null.
func (f *fields) strings(name string) []string {
	n := f.of.member(name)
	if n == nil || n.isNull(f.src) {
		return nil
	}
	if n.kind != array {
		f.fail(name, "is no list")
		return nil
	}
	var out []string
	for _, it := range n.items {
		if it.value.kind != text {
			f.fail(name, "holds something that is no string")
			return nil
		}
		out = append(out, it.value.str(f.src))
	}
	return out
}

func (n *node) isNull(src []byte) bool {
	return n.kind == scalar && string(src[n.start:n.end]) == "null"
}
