package hook

// settings says how an agent's settings file holds hooks.
type settings struct {
	home    homeOf
	file    string // in the agent's folder
	version bool   // the file needs "version": 1
	note    string // for the user, after an installation
	entries func(confine bool) []entry
}

// homeOf is the agent's folder of the user, and of a project.
type homeOf struct {
	variable string // names another folder for the user; "" when there is no such thing
	folder   string // below the home directory, and below a project
}

// entry is one hook in the file: hooks.EVENT[] holds it, in a group with its
// matcher, or by itself.
type entry struct {
	event   string
	group   bool
	matcher string
	extra   []member // of the handler
	// confine says that this entry rewrites commands and leaves questions to
	// the others.
	confine bool
}

// hooksKey is the member of the file that holds the hooks, for every agent.
const hooksKey = "hooks"

// tree is the entry as it is written.
func (e entry) tree(line string) tree {
	handler := objectOf("")
	if e.group {
		handler.items = append(handler.items, leaf("type", "command"))
	}
	handler.items = append(handler.items, leaf("command", line))
	for _, m := range e.extra {
		handler.items = append(handler.items, leaf(m.key, m.text))
	}
	if !e.group {
		if e.matcher != "" {
			handler.items = append(handler.items, leaf("matcher", e.matcher))
		}
		return handler
	}
	return objectOf("", leaf("matcher", e.matcher), arrayOf(hooksKey, handler))
}
