package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// elsewhereTags are what commands on another machine or in a container can be
// tagged with: their paths and their configuration are not this machine's.
const elsewhereTags = Deletes | Network | InlineEval | DownloadExec | Elevated | Secrets

// maxElsewhere bounds how deep commands on other machines are followed
// (ssh a ssh b ssh c …).
const maxElsewhere = 6

// elsewhere classifies words that another machine's shell, or a container,
// runs, and notes the tags that still mean something here.
func (c *classifier) elsewhere(r *reading, words []shell.Word) {
	if len(words) == 0 {
		return
	}
	if c.depth >= maxElsewhere {
		c.add(unknownText, r.call, words[0].Span, "")
		return
	}
	var text strings.Builder
	for i := range words {
		if i > 0 {
			text.WriteByte(' ')
		}
		if r.sub.does == containerExec || r.sub.does == dockerRun {
			text.WriteString(quoted(words[i].Value))
		} else {
			text.WriteString(words[i].Value)
		}
		if !words[i].Literal {
			text.WriteString(`"${_}"`) // what is not known here is not known there
		}
	}
	s := shell.Parse(text.String(), shell.Sh)
	in := classifier{s: s, mask: elsewhereTags, depth: c.depth + 1, last: -1}
	in.classify()
	for i := range in.found {
		f := &in.found[i]
		by := ruleOf(f)
		if by == elevate {
			by = remotePrivilege
		}
		c.add(by, r.call, c.s.Calls[r.call].Span, f.Words)
	}
}

func ruleOf(f *Finding) rule {
	for i := range rules {
		if rules[i].id == f.Rule {
			return rule(i)
		}
	}
	return noRule
}

// quoted makes one word of a shell text.
func quoted(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isWord(c) && c != '/' && c != '.' && c != '-' && c != '=' && c != ':' && c != '@' && c != ',' && c != '+' && c != '%' {
			return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
		}
	}
	if s == "" {
		return "''"
	}
	return s
}
