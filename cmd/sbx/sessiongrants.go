package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/permit"
)

// conversationVar names the session that "in this session" means, for callers that
// start sbx for each command of one. Without it a person's session is that of the
// terminal.
const conversationVar = "SBX_SESSION"

// sessionGrants keeps what is granted in a session for the commands that come
// after. Its file lies in the runtime directory, which is in memory and ends with
// the login; a terminal's ends with the terminal, because nothing else has its key.
type sessionGrants struct{ permit.InConfig }

// Granted lists what was granted; what cannot be read was not.
func (g sessionGrants) Granted(string) []string {
	grants, _ := g.InConfig.Granted("")
	return grants
}

// Grant merges grants into what is there.
func (g sessionGrants) Grant(_ string, grants ...permit.Grant) error {
	return g.InConfig.Grant("", grants...)
}

// sessionOf is the session of this call and its grants; "" where there is none,
// or no place that only the caller can write.
func sessionOf(agent string) (string, sessionGrants) {
	key := os.Getenv(conversationVar)
	if key == "" {
		key = terminalSession()
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	info, err := os.Stat(dir)
	if key == "" || err != nil || !filepath.IsAbs(dir) || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ownFile(info) {
		return "", sessionGrants{}
	}
	sum := sha256.Sum256([]byte(key + "\x00" + agent))
	return key, sessionGrants{permit.InConfig{Path: filepath.Join(dir, "sbx", fmt.Sprintf("grants-%x.json", sum[:12]))}}
}

// sessionGate lets answers for a session be kept, where no command can write them.
func (c *execCall) sessionGate(o *sbx.Options, g *permit.Gate) {
	key, grants := sessionOf(c.agent)
	if key == "" || lies(grants.Path, o.Workspace) {
		return
	}
	for _, dir := range o.Write {
		if lies(grants.Path, dir) {
			return
		}
	}
	g.Sessions, c.request.Caller.Session = grants, key
}
