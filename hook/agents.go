package hook

// The protocols. What each document says, of which date, and what is not sure,
// is in docs/hooks.md.

var claudeCode = Protocol{
	Name: "claude-code", Title: "Claude Code",
	events: []event{{name: "PreToolUse", tools: []tool{
		{name: "Bash"},
		{name: "Monitor", instead: "ws"}, // watches a command, or a web socket
		{name: "Shell"},                  // Bash, when Cursor runs this hook
		{name: "PowerShell", foreign: "PowerShell"},
	}}},
	// In these modes a question is answered by nobody: reported as dropped.
	unattended: func(e Event) bool { return e.Mode == "bypassPermissions" || e.Mode == "dontAsk" },
	project:    "CLAUDE_PROJECT_DIR",
	userShell:  true,
	encode:     encodeClaude,
	failed:     blocked,
	settings: settings{
		home: homeOf{"CLAUDE_CONFIG_DIR", ".claude"}, file: "settings.json",
		entries: func(confine bool) []entry {
			return []entry{{event: "PreToolUse", group: true, matcher: "Bash|Monitor", extra: []member{{key: "onFailure", text: "block"}}}}
		},
	},
}

// encodeClaude: a rewritten command takes effect with allow or ask only, and
// updatedInput replaces the whole input.
func encodeClaude(e Event, d Decision) Answer {
	decision := ""
	switch d.Verdict {
	case Deny:
		decision = "deny"
	case Ask:
		decision = "ask"
	case Allow:
		decision = "allow"
	case None:
		if d.Command == "" {
			return Answer{}
		}
		decision = "ask"
		d.Reason = join("sbx: the command will run confined to its directory.", d.Reason)
	}
	m := []member{{key: "hookEventName", text: e.Name}, {key: "permissionDecision", text: decision}, {key: "permissionDecisionReason", text: d.Reason}}
	if d.Verdict != Deny && d.Command != "" {
		m = append(m, member{key: "updatedInput", raw: e.replaced(d.Command)})
	}
	return line(member{key: "hookSpecificOutput", raw: string(appendObject(nil, m...))})
}

var codex = Protocol{
	Name: "codex", Title: "Codex",
	events: []event{{name: "PreToolUse", tools: []tool{{name: "Bash"}, {name: "Shell"}, {name: "exec_command"}}}},
	// An answer "ask" fails the hook, and a hook that failed lets the command run.
	unattended: func(Event) bool { return true },
	userShell:  true,
	encode:     encodeCodex,
	failed:     blocked,
	settings: settings{
		home: homeOf{"CODEX_HOME", ".codex"}, file: "hooks.json",
		note: "Codex runs a new or changed hook only after you have trusted it: open /hooks in Codex.",
		entries: func(confine bool) []entry {
			return []entry{{event: "PreToolUse", group: true, matcher: "Bash"}}
		},
	},
}

// encodeCodex refuses by the exit status: Codex starts hooks in a login shell,
// and a line that a profile prints would spoil JSON, which then means nothing.
// allow is valid beside a rewritten command only. Keys that are not in its
// schema fail the hook, so there are no others.
func encodeCodex(e Event, d Decision) Answer {
	switch {
	case d.Verdict == Deny || d.Verdict == Ask:
		return blocked(d.Reason)
	case d.Command == "":
		return Answer{}
	}
	return line(member{key: "hookSpecificOutput", raw: string(appendObject(nil,
		member{key: "hookEventName", text: e.Name},
		member{key: "permissionDecision", text: "allow"},
		member{key: "updatedInput", raw: e.replaced(d.Command)}))})
}

var gemini = Protocol{
	Name: "gemini", Title: "Gemini CLI",
	events:    []event{{name: "BeforeTool", tools: []tool{{name: "run_shell_command"}}}},
	directory: []string{"dir_path", "directory"},
	project:   "GEMINI_PROJECT_DIR",
	encode:    encodeGemini,
	failed:    blocked,
	settings: settings{
		home: homeOf{"", ".gemini"}, file: "settings.json",
		entries: func(confine bool) []entry {
			return []entry{{event: "BeforeTool", group: true, matcher: "run_shell_command", extra: []member{{key: "name", text: "sbx"}}}}
		},
	},
}

func encodeGemini(e Event, d Decision) Answer {
	var m []member
	switch d.Verdict {
	case Deny:
		m = append(m, member{key: "decision", text: "deny"}, member{key: "reason", text: d.Reason})
	case Ask: // the message is what the person sees, the reason is for the model
		m = append(m, member{key: "decision", text: "ask"}, member{key: "reason", text: d.Reason}, member{key: "systemMessage", text: d.Reason})
	case Allow:
		m = append(m, member{key: "decision", text: "allow"})
	case None:
		if d.Command == "" {
			return line()
		}
	}
	if d.Verdict != Deny && d.Command != "" {
		m = append(m, member{key: "hookSpecificOutput", raw: string(appendObject(nil,
			member{key: "hookEventName", text: e.Name},
			member{key: "tool_input", raw: e.replaced(d.Command)}))})
	}
	return line(m...)
}

const (
	cursorShell = "beforeShellExecution"
	cursorTool  = "preToolUse"
)

var cursor = Protocol{
	Name: "cursor", Title: "Cursor",
	events: []event{{name: cursorShell}, {name: cursorTool, tools: []tool{{name: "Shell"}}}},
	// Documented: ask is accepted there, but not enforced.
	unattended: func(e Event) bool { return e.Name == cursorTool },
	directory:  []string{"working_directory"},
	userShell:  true,
	encode:     encodeCursor,
	failed: func(reason string) Answer {
		return encodeCursor(Event{}, Decision{Reason: reason})
	},
	settings: settings{
		home: homeOf{"", ".cursor"}, file: "hooks.json", version: true,
		// Only preToolUse takes a rewritten command, and only
		// beforeShellExecution asks: with both, a question is asked there.
		entries: func(confine bool) []entry {
			list := []entry{{event: cursorShell}}
			if confine {
				list = append(list, entry{event: cursorTool, matcher: "Shell", confine: true})
			}
			return list
		},
	},
}

// encodeCursor gives the reason twice: documented are user_message for the
// person and agent_message for the model; reported is that the model gets the
// former.
func encodeCursor(e Event, d Decision) Answer {
	permission := ""
	switch d.Verdict {
	case Deny:
		permission = "deny"
	case Ask:
		permission = "ask"
	case Allow:
		permission = "allow"
	case None:
		if d.Command == "" || e.Name != cursorTool {
			return line()
		}
		permission = "allow" // what is asked in the next event, beforeShellExecution, still is
	}
	m := []member{{key: "permission", text: permission}, {key: "user_message", text: d.Reason}, {key: "agent_message", text: d.Reason}}
	if d.Verdict != Deny && d.Command != "" && e.Name == cursorTool {
		m = append(m, member{key: "updated_input", raw: e.replaced(d.Command)})
	}
	return line(m...)
}
