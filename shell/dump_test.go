package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDump(t *testing.T) {
	f := os.Getenv("DUMP")
	if f == "" {
		t.Skip()
	}
	s := ParseAt(f, Bash, Where{Cwd: "/home/dev/app", Home: "/home/dev", User: "dev"})
	fmt.Println("ERR", s.Err, "UNK", s.Unknown)
	for i, c := range s.Calls {
		var ws []string
		for _, w := range c.Words {
			m := ""
			if !w.Literal {
				m = "?" + w.Prefix
			}
			if w.Glob {
				m += "*"
			}
			if w.Guess {
				m += "g"
			}
			if w.Eval {
				m += "E"
			}
			ws = append(ws, fmt.Sprintf("%q%s", w.Value, m))
		}
		var rs []string
		for _, r := range c.Redirs {
			rs = append(rs, r.Op+r.Target.Value)
		}
		var as []string
		for _, a := range c.Assigns {
			as = append(as, a.Name+"="+a.Value.Value)
		}
		fmt.Printf("%d %s {%s} dir=%s car=%v from=%v to=%v bg=%v fn=%s redir=%v as=%v more=%v\n", i, strings.Join(ws, " "), s.Slice(c.Span), c.Dir, c.Carriers, c.PipeFrom, c.PipeTo, c.Background, c.Func, rs, as, c.More)
	}
}
