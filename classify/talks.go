package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// talks handles the programs that use the network in ways of their own.
func (c *classifier) talks(r *reading, s special) bool {
	switch s {
	case curlCommand:
		c.curl(r)
	case wgetCommand:
		c.wget(r)
	case sshCommand:
		c.ssh(r)
	case remoteCopy:
		c.remoteCopy(r)
	case sftpCommand:
		c.sshOptions(r)
		if n := len(r.ops); n > 1 {
			c.path(r, 'w', &r.words[r.ops[n-1]])
			c.addCall(writeFile, r.call)
		} else if n == 1 && strings.Contains(r.op(0), ":") && !strings.HasSuffix(r.op(0), "/") && !strings.HasSuffix(r.op(0), ":") && !strings.Contains(r.op(0), "://") {
			c.addCall(writeFile, r.call)
		}
	case netcat:
		if len(r.ops) > 0 || r.has("l p") {
			if r.has("U") && !r.has("l") {
				return true
			}
			c.addCall(netClient, r.call)
			c.carry(r.call, fromNetwork)
		}
		if w, ok := r.value("c"); ok && !strings.HasPrefix(w.Value, "-") {
			c.add(optionProgram, r.call, w.Span, w.Value)
		}
		if w, ok := r.value("e exec"); ok && harmlessProgram(w.Value) {
			c.add(optionProgram, r.call, w.Span, w.Value)
		}
	case socatCommand:
		c.socat(r)
	case browserCommand:
		if len(r.ops) > 0 && (isURL(r.op(0)) || strings.Contains(r.op(0), ".") && !strings.HasSuffix(r.op(0), ".html") && !strings.HasSuffix(r.op(0), ".txt")) {
			c.addCall(netClient, r.call)
		} else if len(r.ops) > 0 {
			c.everyOperand(r, 'r')
		}
	case lftpCommand:
		if w, ok := r.value("e c"); ok {
			if strings.Contains(w.Value, "!") {
				c.addCall(codeClient, r.call)
			}
			if strings.Contains(w.Value, "get ") || strings.Contains(w.Value, "mirror ") && !strings.Contains(w.Value, "mirror -R") {
				c.addCall(writeFile, r.call)
			}
		}
	case rcloneCommand:
		c.rclone(r)
	case s3Command:
		c.objectStore(r, r.ops)
	case svnCommand:
		c.svn(r)
	case sshKeygen:
		c.sshKeygen(r)
	case awsCommand:
		c.aws(r)
	default:
		return false
	}
	return true
}

// curl writes files with -o and -O, and reads file: URLs.
func (c *classifier) curl(r *reading) {
	named := 0
	for _, o := range r.opts {
		switch o.name {
		case "o", "output":
			named++
			if o.word >= 0 {
				w := r.word(o)
				if _, at := c.locate(&w, r.dir); at != nowhere || !w.Literal {
					c.addCall(writeFile, r.call)
					c.save(&w, r.dir, fromNetwork)
				}
			}
		case "O", "remote-name", "remote-name-all":
			named++
			c.addCall(writeFile, r.call)
			for _, k := range r.ops {
				c.saveURL(r, &r.words[k], "")
			}
		case "b", "cookie":
			if o.word >= 0 {
				if w := r.word(o); !strings.Contains(w.Value, "=") && w.Literal {
					c.path(r, 'r', &w)
				}
			}
		case "cert", "E":
			if o.word >= 0 && strings.Contains(r.word(o).Value, ".ssh/id_") {
				c.addCall(secretFile, r.call)
			}
		}
	}
	if d, ok := r.value("output-dir"); ok && named > 0 {
		c.path(r, 'w', &d)
	} else if r.has("O remote-name remote-name-all") {
		c.here(r)
	}
	for _, k := range r.ops {
		w := r.words[k]
		if rest, ok := strings.CutPrefix(w.Value, "file://"); ok {
			f := shell.Word{Value: rest, Prefix: rest, Literal: w.Literal, Span: w.Span}
			c.path(r, 'r', &f)
		}
	}
}

// saveURL remembers the file that a client makes from the end of a URL.
func (c *classifier) saveURL(r *reading, w *shell.Word, dir string) {
	if !w.Literal {
		return
	}
	v, _, _ := strings.Cut(w.Value, "?")
	v, _, _ = strings.Cut(v, "#")
	name := base(v)
	if name == "" {
		name = "index.html"
	}
	if dir != "" {
		name = strings.TrimSuffix(dir, "/") + "/" + name
	}
	c.save(&shell.Word{Value: name, Prefix: name, Literal: true}, r.dir, fromNetwork)
}

// wget writes a file unless -O - or --spider says otherwise.
func (c *classifier) wget(r *reading) {
	if r.has("b background") {
		c.addCall(backgroundDetached, r.call)
	}
	if w, ok := r.value("e execute"); ok && strings.Contains(w.Value, "use_askpass") {
		c.add(optionProgram, r.call, w.Span, w.Value)
	}
	if r.has("spider") || len(r.ops) == 0 && !r.has("i input-file") && !c.s.Calls[r.call].More {
		return
	}
	if w, ok := r.value("O output-document"); ok {
		if w.Value == "-" || w.Value == "/dev/stdout" {
			c.carry(r.call, fromNetwork)
			return
		}
		if _, at := c.locate(&w, r.dir); at == nowhere && w.Literal {
			return
		}
		c.addCall(writeFile, r.call)
		c.path(r, 'w', &w)
		c.save(&w, r.dir, fromNetwork)
		return
	}
	c.addCall(writeFile, r.call)
	dir := ""
	if w, ok := r.value("P directory-prefix"); ok {
		c.path(r, 'w', &w)
		dir = w.Value
	} else {
		c.here(r)
	}
	for _, k := range r.ops {
		c.saveURL(r, &r.words[k], dir)
	}
}

// ssh runs its operands behind the host as text of the remote shell.
func (c *classifier) ssh(r *reading) {
	c.sshOptions(r)
	if r.has("G V Q O") || len(r.ops) == 0 {
		return
	}
	c.addCall(netRemote, r.call)
	c.carry(r.call, fromNetwork)
	call := &c.s.Calls[r.call]
	if len(r.ops) > 1 {
		c.addCall(codeRemote, r.call)
		c.elsewhere(r, r.words[r.ops[1]:])
		return
	}
	if call.In != nil || len(call.PipeFrom) > 0 {
		c.addCall(codeRemote, r.call)
	}
}

// sshOptions reads -o NAME=VALUE of ssh, scp and sftp: some values are run.
func (c *classifier) sshOptions(r *reading) {
	for _, o := range r.opts {
		if o.word < 0 || o.name != "o" {
			continue
		}
		w := r.word(o)
		name := strings.ToLower(w.Value)
		for _, p := range [...]string{"proxycommand", "localcommand", "knownhostscommand", "permitlocalcommand=yes", "pkcs11provider", "securitykeyprovider", "xauthlocation"} {
			if strings.HasPrefix(name, p) && !strings.HasSuffix(name, "none") {
				c.add(optionProgram, r.call, w.Span, w.Value)
			}
		}
		if strings.HasPrefix(name, "identityfile=") {
			f := tail(w, len("identityfile="))
			c.list(r.call, &f, r.dir)
		}
	}
}

// remoteOperand reports whether an operand is HOST:PATH, as scp and rsync read
// it: a colon before any slash.
func remoteOperand(v string) bool {
	if strings.HasPrefix(v, "rsync://") || strings.HasPrefix(v, "scp://") || strings.HasPrefix(v, "sftp://") {
		return true
	}
	colon := strings.IndexByte(v, ':')
	slash := strings.IndexByte(v, '/')
	return colon > 0 && (slash < 0 || colon < slash)
}

// remoteCopy reads rsync and scp: the last operand is the target.
func (c *classifier) remoteCopy(r *reading) {
	if r.name != "rsync" {
		c.sshOptions(r)
	}
	ops := r.ops
	idle := r.effects&dry != 0 && !r.has("n dry-run")
	if idle {
		return
	}
	n := len(ops)
	if n == 0 {
		return
	}
	remote := false
	for _, k := range ops {
		w := &r.words[k]
		if remoteOperand(w.Value) || w.Prefix == "" && !w.Literal && strings.HasPrefix(w.Value, ":") {
			c.add(netRemote, r.call, w.Span, w.Value)
			remote = true
		}
	}
	for i, k := range ops {
		w := &r.words[k]
		target := i == n-1 && n > 1
		switch {
		case remoteOperand(w.Value):
		case target && r.effects&dry == 0 && !r.has("list-only"):
			if _, at := c.locate(w, r.dir); at != nowhere {
				c.addCall(writeFile, r.call)
			}
			c.path(r, 'w', w)
			if remote {
				c.saveCopies(r, ops[:n-1], w)
			}
		case target:
		default:
			c.path(r, 'r', w)
		}
	}
	if n == 1 && !remote || r.effects&dry != 0 {
		return
	}
	if d, last := c.deleting(r), &r.words[ops[n-1]]; d {
		c.changed(r.call, last, r.dir)
	}
}

// saveCopies remembers the local names of files that were copied here from
// another machine or a store.
func (c *classifier) saveCopies(r *reading, sources []int, to *shell.Word) {
	if !to.Literal {
		return
	}
	c.save(to, r.dir, fromNetwork)
	for _, k := range sources {
		if v := r.words[k].Value; strings.Contains(v, ":") {
			name := strings.TrimSuffix(to.Value, "/") + "/" + base(v[strings.IndexByte(v, ':')+1:])
			c.save(&shell.Word{Value: name, Prefix: name, Literal: true}, r.dir, fromNetwork)
		}
	}
}

func (c *classifier) deleting(r *reading) bool {
	for i := range r.opts {
		if strings.HasPrefix(r.opts[i].how, "+d") {
			return true
		}
	}
	return false
}

// socat joins two addresses; some run programs, some open files.
func (c *classifier) socat(r *reading) {
	for _, k := range r.ops {
		w := &r.words[k]
		kind, rest, _ := strings.Cut(w.Value, ":")
		kind = strings.ToUpper(kind)
		switch kind {
		case "EXEC", "SYSTEM", "SHELL":
			c.add(optionProgram, r.call, w.Span, w.Value)
		case "CREATE", "OPEN", "FILE", "GOPEN":
			name, opts, _ := strings.Cut(rest, ",")
			f := shell.Word{Value: name, Prefix: name, Literal: w.Literal, Span: w.Span}
			if kind == "CREATE" || strings.Contains(opts, "creat") || strings.Contains(opts, "append") || strings.Contains(opts, "trunc") {
				c.path(r, 'w', &f)
			} else {
				c.path(r, 'r', &f)
			}
		default:
			for _, net := range [...]string{"TCP", "UDP", "SSL", "OPENSSL", "SCTP", "SOCKS", "PROXY", "IP"} {
				if strings.HasPrefix(kind, net) {
					c.addCall(netClient, r.call)
					c.carry(r.call, fromNetwork)
					break
				}
			}
		}
	}
}

func (c *classifier) rclone(r *reading) {
	switch r.op(0) {
	case "", "version", "config", "help", "completion", "genautocomplete":
		return
	case "delete", "purge", "deletefile", "rmdir", "rmdirs", "cleanup":
		c.addCall(deleteObjects, r.call)
	case "sync", "move":
		c.addCall(deleteOption, r.call)
	}
	c.objectStore(r, r.ops[1:])
	for _, k := range r.ops[1:] {
		if remoteOperand(r.words[k].Value) {
			c.addCall(netService, r.call)
			return
		}
	}
}

// objectStore reads SOURCE TARGET pairs where one is in a store.
func (c *classifier) objectStore(r *reading, ops []int) {
	if len(ops) > 0 {
		switch r.words[ops[0]].Value {
		case "rm", "rb", "del", "delete":
			c.addCall(deleteObjects, r.call)
		case "rsync", "sync":
			if r.has("d delete-removed") {
				c.addCall(deleteOption, r.call)
			}
		}
	}
	for n, k := range ops {
		w := &r.words[k]
		if strings.Contains(w.Value, "://") || remoteOperand(w.Value) || n == 0 && !strings.ContainsAny(w.Value, "/.") {
			continue
		}
		if n == len(ops)-1 && n > 0 {
			if w.Value != "-" {
				c.addCall(writeFile, r.call)
				c.path(r, 'w', w)
				c.saveCopies(r, ops[:n], w)
			}
		} else {
			c.path(r, 'r', w)
		}
	}
}

func (c *classifier) svn(r *reading) {
	switch r.op(0) {
	case "checkout", "co", "export":
		c.addCall(netRepository, r.call)
		c.addCall(writeTree, r.call)
	case "update", "up", "commit", "ci", "import", "list", "ls", "log", "switch", "sw", "cat", "blame", "copy", "cp":
		c.addCall(netRepository, r.call)
	case "revert", "merge", "patch":
		c.addCall(writeTree, r.call)
	case "delete", "del", "remove", "rm":
		c.addCall(deleteWork, r.call)
	}
}

// sshKeygen writes a key pair, reads one, or edits known_hosts.
func (c *classifier) sshKeygen(r *reading) {
	f, ok := r.value("f")
	switch {
	case r.has("l F B"):
		if ok {
			c.list(r.call, &f, r.dir)
		}
		return
	case r.has("y e i L"):
		if ok {
			c.path(r, 'r', &f)
		}
		return
	}
	c.addCall(writeFile, r.call)
	if ok {
		c.path(r, 'w', &f)
	} else {
		c.addCall(writeOutside, r.call)
	}
}

// aws reads the service and its verb.
func (c *classifier) aws(r *reading) {
	service, verb := r.op(0), r.op(1)
	if n := len(r.ops); n > 0 && r.op(n-1) == "help" {
		return
	}
	if service != "configure" && service != "help" && verb != "help" && service != "" {
		c.addCall(netService, r.call)
	}
	for k := range r.words {
		if r.words[k].Value == "--dryrun" || r.words[k].Value == "--dry-run" {
			return
		}
	}
	switch {
	case service == "s3" && len(r.ops) > 2:
		switch verb {
		case "rm", "rb":
			c.addCall(deleteObjects, r.call)
		case "cp", "sync", "mv":
			if r.has("delete") {
				c.addCall(deleteOption, r.call)
			}
			ops := r.ops[2:min(4, len(r.ops))]
			if len(ops) == 2 && strings.HasPrefix(r.words[ops[0]].Value, "s3://") && r.words[ops[1]].Value == "-" {
				c.carry(r.call, fromNetwork)
			}
			c.objectStore(r, ops)
		}
	case strings.HasPrefix(verb, "delete-"), strings.HasPrefix(verb, "terminate-"), strings.HasPrefix(verb, "batch-delete"):
		c.addCall(deleteObjects, r.call)
	case service == "configure":
		if verb == "export-credentials" || verb == "get" && (strings.Contains(r.op(2), "secret") || strings.Contains(r.op(2), "key")) {
			c.addCall(secretPrinted, r.call)
		}
	case service == "secretsmanager" && verb == "get-secret-value",
		service == "sts" && verb == "get-session-token", service == "ecr" && verb == "get-login-password", service == "ssm" && verb == "get-parameter" && r.has("with-decryption"):
		c.addCall(secretPrinted, r.call)
	}
}
