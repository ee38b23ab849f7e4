package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// touchesFiles handles the programs that read, write, pack or remove files in
// ways of their own.
func (c *classifier) touchesFiles(r *reading, s special) bool {
	switch s {
	case findCommand:
		c.find(r)
	case ddCommand:
		c.dd(r)
	case fdCommand:
		c.fd(r)
	case chmodMode:
		c.chmod(r)
	case copies:
		c.copies(r)
	case installCommand:
		if r.has("d directory") {
			r.effects |= toTarget
			c.everyOperand(r, 'w')
		}
		if m, ok := r.value("m mode"); ok && setsUser(m.Value) {
			c.addCall(setuid, r.call)
		}
		c.copies(r)
	case linkCommand:
		if len(r.ops) == 1 && r.effects&toTarget == 0 {
			return true
		}
	case mktempCommand:
		if !r.has("u dry-run") {
			c.mktemp(r)
		}
	case fixes:
		if r.effects&inPlace != 0 {
			c.addCall(writeInPlace, r.call)
		}
	case formats:
		c.formats(r)
	case patchCommand:
		if _, ok := r.value("d directory"); ok {
			c.here(r)
		}
	case sdCommand:
		if len(r.ops) > 2 {
			for _, k := range r.ops[2:] {
				c.path(r, 'w', &r.words[k])
			}
		}
	case shufCommand:
		if r.has("e echo") {
			r.ops = r.ops[:0]
		}
	case decodes:
		if decoding(r.words) {
			c.carry(r.call, fromDecoder)
		}
	case tarCommand:
		c.tar(r)
	case arCommand:
		c.ar(r)
	case cpioCommand:
		if (r.has("i extract") && !r.has("t list to-stdout")) || r.has("p pass-through") {
			c.addCall(writeExtract, r.call)
			if d, ok := r.value("D directory"); ok {
				c.path(r, 'w', &d)
			} else if r.has("i extract") {
				c.here(r)
			}
			if r.has("p pass-through") && len(r.ops) > 0 {
				c.path(r, 'w', &r.words[r.ops[0]])
			}
		}
	case unzipCommand:
		c.unzip(r)
	case zipCommand:
		for k := 1; k+1 < len(r.words); k++ {
			if r.words[k].Value == "-TT" { // two letters behind one dash
				c.add(optionProgram, r.call, r.words[k+1].Span, r.words[k+1].Value)
			}
		}
		if r.has("d delete") {
			r.ops = r.ops[:min(1, len(r.ops))]
		}
	case sevenZip, unrarCommand:
		c.sevenZip(r)
	case jarCommand:
		c.jar(r)
	case packsInPlace, unpacksInPlace:
		c.packs(r, s)
	case opensslCommand:
		c.openssl(r)
	case gpgCommand:
		if r.has("export-secret-keys export-secret-subkeys") {
			c.addCall(secretPrinted, r.call)
			r.ops = r.ops[:0]
		}
		if r.has("d decrypt") {
			c.carry(r.call, fromDecoder)
		}
		if r.has("recv-keys recv search-keys send-keys refresh-keys fetch-keys locate-keys export list-keys list-secret-keys delete-keys fingerprint edit-key sign-key gen-key") {
			r.ops = r.ops[:0]
		}
	case ffmpegCommand:
		if n := len(r.ops); n == 1 && r.op(0) == "-" {
			r.ops = r.ops[:0]
		} else if n > 0 {
			c.addCall(writeFile, r.call)
		}
	case cmakeCommand:
		c.cmake(r)
	default:
		return false
	}
	return true
}

// here notes that files are made in the directory that the command runs in.
func (c *classifier) here(r *reading) {
	if r.dir != "" && c.absolute(r.dir) == outside {
		c.add(writeOutside, r.call, c.s.Calls[r.call].Span, r.dir)
	}
}

func (c *classifier) everyOperand(r *reading, role byte) {
	for _, k := range r.ops {
		c.path(r, role, &r.words[k])
	}
}

// decoding reports whether base64, xxd and the like are told to decode.
func decoding(words []shell.Word) bool {
	name := base(words[0].Value)
	if name == "uudecode" {
		return true
	}
	for k := 1; k < len(words); k++ {
		v := words[k].Value
		switch {
		case v == "--":
			return false
		case strings.HasPrefix(v, "--d") || strings.HasPrefix(v, "--revert"):
			return true
		case len(v) < 2 || v[0] != '-':
		case name == "xxd":
			if strings.HasPrefix(v, "-r") || strings.HasSuffix(v, "r") && len(v) < 4 {
				return true
			}
		case v[1] != '-':
			for i := 1; i < len(v) && v[i] != 'w' && v[i] != 'b'; i++ {
				if v[i] == 'd' || v[i] == 'D' {
					return true
				}
			}
		}
	}
	return false
}

// chmod finds the set-user-ID bit.
func (c *classifier) chmod(r *reading) {
	if _, ok := r.value("reference"); ok {
		return
	}
	mode := r.op(0)
	for i := range r.opts { // chmod -x file: the mode looks like an option
		if len(r.opts[i].name) == 1 && strings.Contains("rwxXst", r.opts[i].name) && r.opts[i].how == "" {
			c.everyOperand(r, 'w')
			return
		}
	}
	if setsUser(mode) {
		c.addCall(setuid, r.call)
	}
}

// setsUser reports whether a mode sets the set-user-ID bit: 4755, u+s, +s, a=s.
func setsUser(mode string) bool {
	if mode == "" {
		return false
	}
	if mode[0] >= '0' && mode[0] <= '7' {
		m := strings.TrimLeft(mode, "0")
		return len(m) == 4 && (m[0]-'0')&4 != 0
	}
	for len(mode) > 0 {
		var part string
		part, mode, _ = strings.Cut(mode, ",")
		k := strings.IndexAny(part, "+=")
		if k < 0 || !strings.Contains(part[k:], "s") {
			continue
		}
		if who := part[:k]; who == "" || strings.ContainsAny(who, "ua") {
			return true
		}
	}
	return false
}

// copies lets the copy of a fetched file count as fetched.
func (c *classifier) copies(r *reading) {
	if c.saved == nil || len(r.ops) < 2 {
		return
	}
	to := r.words[r.ops[len(r.ops)-1]]
	for _, k := range r.ops[:len(r.ops)-1] {
		f := c.savedFlow(&r.words[k], r.dir)
		if f == 0 {
			continue
		}
		c.save(&to, r.dir, f)
		in := to
		in.Value = strings.TrimSuffix(to.Value, "/") + "/" + base(r.words[k].Value)
		in.Prefix = in.Value
		c.save(&in, r.dir, f)
	}
}

// mktemp makes a file in the temporary directory, unless it is given a
// template in the workspace.
func (c *classifier) mktemp(r *reading) {
	c.addCall(writeFile, r.call)
	for _, k := range r.ops {
		if strings.Contains(r.words[k].Value, "/") {
			c.changed(r.call, &r.words[k], r.dir)
			return
		}
	}
	if d, ok := r.value("p tmpdir"); ok {
		c.changed(r.call, &d, r.dir)
		return
	}
	if len(r.ops) == 0 || r.has("t") {
		c.addCall(writeOutside, r.call)
	}
}

func (c *classifier) formats(r *reading) {
	if r.has("c code") && r.name == "black" || len(r.ops) == 1 && r.op(0) == "-" || r.has("stdin-filename") {
		return
	}
	if o, ok := r.value("o output write"); ok && (o.Value == "none" || o.Value == "show" || o.Value == "json" || o.Value == "false") {
		r.ops = r.ops[:0]
		return
	}
	c.addCall(writeInPlace, r.call)
	if strings.HasPrefix(r.sub.args, "r") {
		r.effects |= inPlace
	}
}

// cmake -E is a tool box of file commands; cmake -P runs a script.
func (c *classifier) cmake(r *reading) {
	verb, ok := r.value("E")
	if !ok {
		return
	}
	switch verb.Value {
	case "rm", "remove", "remove_directory":
		c.addCall(deleteFiles, r.call)
		for _, k := range r.ops {
			c.changed(r.call, &r.words[k], r.dir)
		}
	case "copy", "copy_directory", "copy_if_different", "rename", "make_directory", "touch", "create_symlink", "create_hardlink", "copy_directory_if_different":
		c.addCall(writeFile, r.call)
		for n, k := range r.ops {
			role := byte('r')
			if n == len(r.ops)-1 || verb.Value == "make_directory" || verb.Value == "touch" {
				role = 'w'
			}
			c.path(r, role, &r.words[k])
		}
	case "tar":
		c.addCall(writeFile, r.call)
	}
	r.ops = r.ops[:0]
}
