package config

// Agent is what the file says of one agent. The section is Pepe's: what is not of
// the shape below counts as not said, which grants nothing.
type Agent struct {
	AutoApprove    []string `json:"auto_approve,omitempty"`            // grants, see package permit
	TrustUntrusted bool     `json:"trust_untrusted_content,omitempty"` // content from outside changes nothing
}

// Policy is an entry of sbx.policies. Whether it makes sense is for permit to say.
type Policy struct {
	Name     string   `json:"name"`
	Tool     string   `json:"tool,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Argv     []string `json:"argv,omitempty"`
	Path     string   `json:"path,omitempty"` // Load has put the home directory in place of "~"
	Host     string   `json:"host,omitempty"`
	Verdict  string   `json:"verdict"`
	Because  string   `json:"justification"`
	Match    []string `json:"match,omitempty"`
	NotMatch []string `json:"not_match,omitempty"`
	// From policy_scope: for these agents and projects; both empty: for all.
	Agents   []string `json:"agents,omitempty"`
	Projects []string `json:"projects,omitempty"`
}

var policyKeys = []string{"name", "tool", "tags", "argv", "path", "host", "verdict", "justification", "match", "not_match"}

// agents reads the section agents.
func (d *decoder) agents(value any) map[string]Agent {
	o, ok := value.(object)
	if !ok {
		return nil
	}
	out := make(map[string]Agent, len(o))
	for _, m := range o {
		section, ok := m.value.(object)
		if !ok {
			continue
		}
		if _, twice := out[m.key]; twice {
			d.fail("agents."+m.key, "stands twice; which one counts is not certain")
		}
		var a Agent
		d.each("agents."+m.key+".", section, []string{grantsKey, "trust_untrusted_content"}, func(key string, value any) bool {
			switch key {
			case grantsKey:
				a.AutoApprove, _ = texts(value)
			case "trust_untrusted_content":
				a.TrustUntrusted, _ = value.(bool)
			}
			return true
		})
		out[m.key] = a
	}
	return out
}

// texts is a list of strings, and false for anything else.
func texts(value any) ([]string, bool) {
	list, ok := value.([]any)
	if !ok {
		return nil, value == nil
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

// policies reads sbx.policies. A key that is not known is an error: a condition
// that is misspelt would make the policy hold for more, or for nothing.
func (d *decoder) policies(value any) []Policy {
	var out []Policy
	d.objects("sbx.policies", value, func(key string, v any) { out = append(out, d.policy(key, v)) })
	return out
}

func (d *decoder) policy(key string, value any) Policy {
	o, ok := value.(object)
	if !ok {
		d.fail(key, "want an object, have %s", describe(value))
		return Policy{}
	}
	var p Policy
	anything := func(string) bool { return true }
	d.known(key+".", o, policyKeys, func(name string, value any) {
		full := key + "." + name
		switch name {
		case "name":
			p.Name = d.word(full, value)
		case "tool":
			p.Tool = d.word(full, value)
		case "tags":
			p.Tags = d.words(full, value)
		case "argv":
			p.Argv = d.list(full, "word", "a word", value, anything, describe)
		case "path":
			p.Path = d.word(full, value)
		case "host":
			p.Host = d.word(full, value)
		case "verdict":
			p.Verdict = d.word(full, value)
		case "justification":
			p.Because = d.word(full, value)
		case "match":
			p.Match = d.list(full, "command", "a command", value, anything, describe)
		case "not_match":
			p.NotMatch = d.list(full, "command", "a command", value, anything, describe)
		}
	})
	return p
}

// scope reads policy_scope, which says for whom the policies hold. A scope that
// is not understood is an error: the policy would hold for others than was meant.
func (d *decoder) scope(value any) map[string]Policy {
	o, ok := d.object("policy_scope", value)
	if !ok {
		return nil
	}
	out := map[string]Policy{}
	for _, m := range o {
		full := "policy_scope." + m.key
		section, ok := d.object(full, m.value)
		if !ok {
			continue
		}
		if _, twice := out[m.key]; twice {
			d.fail(full, "stands twice; which one counts is not certain")
		}
		var p Policy
		d.each(full+".", section, []string{"agents", "projects"}, func(key string, value any) bool {
			switch key {
			case "agents":
				p.Agents = d.words(full+".agents", value)
			case "projects":
				p.Projects = d.words(full+".projects", value)
			}
			return true
		})
		out[m.key] = p
	}
	return out
}

// scoped puts the scopes to their policies.
func scoped(policies []Policy, scopes map[string]Policy) {
	for i := range policies {
		s := scopes[policies[i].Name]
		policies[i].Agents, policies[i].Projects = s.Agents, s.Projects
	}
}
