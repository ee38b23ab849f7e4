package hook

import (
	"path"
	"strings"
)

// commandLine is what the agent runs. It fails closed: without it, any status
// but 0 and 2, such as 127 when sbx is gone, lets the command run.
func (p Protocol) commandLine(sbx string, flags []string, e entry) string {
	words := []string{quoted(sbx), "hook", p.Name}
	for _, f := range flags {
		if f == confineFlag && !e.confine && p.confinesApart() {
			continue
		}
		words = append(words, plainOrQuoted(f))
	}
	if e.confine {
		words = append(words, unaskedFlag, "pass")
	}
	return strings.Join(words, " ") + failClosed
}

const (
	failClosed  = " || exit 2"
	confineFlag = "--confine"
	unaskedFlag = "--unasked"
)

// confinesApart reports whether one of the entries exists to rewrite commands.
func (p Protocol) confinesApart() bool {
	for _, e := range p.settings.entries(true) {
		if e.confine {
			return true
		}
	}
	return false
}

func plainOrQuoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=,./:") == "" {
		return word
	}
	return quoted(word)
}

// isOurs reports whether a command line of the file is one of this hook,
// whatever the path and the flags.
func (p Protocol) isOurs(line string) bool {
	line, closed := strings.CutSuffix(strings.TrimSpace(line), strings.TrimSpace(failClosed))
	program, rest := firstWord(line)
	words := strings.Fields(rest)
	return len(words) >= 2 && words[0] == "hook" && words[1] == p.Name && (closed || path.Base(program) == "sbx")
}

// firstWord splits a command line after its first word, as quoted writes it.
func firstWord(line string) (word, rest string) {
	end := 0
	for end < len(line) && line[end] != ' ' {
		if line[end] == '\'' {
			if closing := strings.IndexByte(line[end+1:], '\''); closing >= 0 {
				end += closing + 1
			}
		} else if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	return strings.Trim(line[:end], "'"), line[end:]
}
