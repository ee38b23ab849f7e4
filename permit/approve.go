package permit

import "strings"

// Listed says what is permitted for good, a line for each grant. The words of a
// grant are as they stand in the store.
func Listed(grants []string) []string {
	if len(grants) == 0 {
		return []string{"nothing is permitted for good"}
	}
	var lines []string
	for _, g := range grants {
		lines = append(lines, g+"  ("+ParseGrant(g).Describe(Label)+")")
	}
	return lines
}

// Taken says what was taken back, a line for each grant.
func Taken(grants []string) []string {
	if len(grants) == 0 {
		return []string{"nothing to take back"}
	}
	var lines []string
	for _, g := range grants {
		lines = append(lines, "took back "+g)
	}
	return lines
}

// Approve answers what an operator types in a chat behind /approve: nothing or
// "list" says what an agent was granted for good, "clear" takes all back, "clear
// TOOL" every form of a tool. The session loses the same; sessions may be nil. Who
// is an operator is for the caller to know.
func Approve(store InConfig, sessions *Sessions, agent, session, text string) (string, error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 0, len(words) == 1 && words[0] == "list":
		grants, err := store.Granted(agent)
		return "- " + strings.Join(Listed(grants), "\n- "), err
	case words[0] == "clear" && len(words) <= 2:
		what := strings.Join(words[1:], "")
		taken, err := store.Clear(agent, what)
		if sessions != nil {
			sessions.Clear(session, what)
		}
		return "- " + strings.Join(Taken(taken), "\n- "), err
	}
	return "/approve list, /approve clear, or /approve clear TOOL", nil
}
