package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// tar: the mode says whether the archive or the members are written.
func (c *classifier) tar(r *reading) {
	for _, o := range r.opts {
		if o.name == "checkpoint-action" && o.word >= 0 {
			if w := r.word(o); strings.HasPrefix(w.Value, "exec=") {
				c.add(optionProgram, r.call, w.Span, w.Value)
			}
		}
	}
	archive, named := r.value("f file")
	remote := named && remoteOperand(archive.Value) && !r.has("force-local")
	if remote {
		c.add(netRemote, r.call, archive.Span, archive.Value)
		named = false
	}
	dir, moved := r.value("C directory")
	switch {
	case r.has("x extract get"):
		if named {
			c.path(r, 'r', &archive)
		}
		if r.has("O to-stdout to-command") {
			c.carry(r.call, fromDecoder)
			return
		}
		c.addCall(writeExtract, r.call)
		if named && c.saved != nil {
			c.unpacked(r, &archive, dir.Value)
		}
		if moved {
			c.path(r, 'w', &dir)
		} else {
			c.here(r)
		}
	case r.has("t list d diff compare test-label"):
		if named {
			c.path(r, 'r', &archive)
		}
	case r.has("delete"):
		c.path(r, 'w', &archive)
	case r.has("c create r append u update A catenate concatenate"):
		if named {
			role := byte('o')
			if !r.has("c create") {
				role = 'w'
			}
			c.path(r, role, &archive)
		}
		if moved {
			c.chdir(r, &dir)
		}
		c.everyOperand(r, 'r')
		if r.has("remove-files") {
			for _, k := range r.ops {
				c.changed(r.call, &r.words[k], r.dir)
			}
		}
	}
}

func (c *classifier) ar(r *reading) {
	if len(r.opts) == 0 {
		return
	}
	for i := range r.opts {
		switch r.opts[i].name {
		case "x":
			c.addCall(writeExtract, r.call)
			if len(r.ops) > 0 {
				c.path(r, 'r', &r.words[r.ops[0]])
			}
			r.ops = r.ops[:0]
			return
		case "t", "p":
			c.everyOperand(r, 'r')
			r.ops = r.ops[:0]
			return
		}
	}
	if len(r.ops) > 0 {
		c.path(r, 'o', &r.words[r.ops[0]])
		for _, k := range r.ops[1:] {
			c.path(r, 'r', &r.words[k])
		}
		r.ops = r.ops[:0]
	}
}

func (c *classifier) unzip(r *reading) {
	if r.has("p c") {
		c.carry(r.call, fromDecoder)
		return
	}
	if len(r.ops) == 0 {
		return
	}
	c.addCall(writeExtract, r.call)
	d, ok := r.value("d")
	if c.saved != nil {
		c.unpacked(r, &r.words[r.ops[0]], d.Value)
	}
	if ok {
		c.path(r, 'w', &d)
	} else {
		c.here(r)
	}
}

// unpacked lets what comes out of a fetched archive count as fetched: the
// directory that it is unpacked to, or one with the archive's name.
func (c *classifier) unpacked(r *reading, archive *shell.Word, dir string) {
	f := c.savedFlow(archive, r.dir)
	if f == 0 {
		return
	}
	if dir != "" {
		c.saveTree(dir, r.dir, f)
		return
	}
	name := base(archive.Value)
	for _, end := range [...]string{".gz", ".xz", ".bz2", ".zst", ".tar", ".tgz", ".txz", ".zip"} {
		name = strings.TrimSuffix(name, end)
	}
	c.saveTree(name, r.dir, f)
}

// sevenZip reads 7z and unrar: a command word, an archive, members.
func (c *classifier) sevenZip(r *reading) {
	if len(r.ops) < 2 {
		return
	}
	archive := &r.words[r.ops[1]]
	switch r.op(0) {
	case "x", "e":
		c.path(r, 'r', archive)
		if wordIn(r.words, "-so") {
			c.carry(r.call, fromDecoder)
			return
		}
		c.addCall(writeExtract, r.call)
		named := false
		for k := range r.words {
			if v := r.words[k].Value; strings.HasPrefix(v, "-o") && v != "-o+" && v != "-o-" {
				d := tail(r.words[k], 2)
				c.path(r, 'w', &d)
				named = true
			}
		}
		if !named {
			c.here(r)
		}
		if n := len(r.ops); r.name == "unrar" && n > 2 && strings.HasSuffix(r.op(n-1), "/") {
			c.path(r, 'w', &r.words[r.ops[n-1]])
		}
	case "a", "u":
		c.path(r, 'o', archive)
		for _, k := range r.ops[2:] {
			c.path(r, 'r', &r.words[k])
		}
		if wordIn(r.words, "-sdel") {
			c.addCall(deleteOption, r.call)
		}
	case "d", "rn":
		c.path(r, 'w', archive)
	default:
		c.path(r, 'r', archive)
	}
}

func wordIn(words []shell.Word, value string) bool {
	for k := range words {
		if words[k].Value == value {
			return true
		}
	}
	return false
}

func (c *classifier) jar(r *reading) {
	f, ok := r.value("f file")
	if !ok && len(r.ops) > 0 {
		f = r.words[r.ops[0]]
	}
	switch {
	case r.has("x extract"):
		c.path(r, 'r', &f)
		c.addCall(writeExtract, r.call)
		c.here(r)
	case r.has("t list"):
		c.path(r, 'r', &f)
	case r.has("c create u update"):
		c.path(r, 'o', &f)
	}
}

// packs reads gzip and its relatives, which replace the file that they are
// given; without one, or with -c, they are filters.
func (c *classifier) packs(r *reading, s special) {
	unpacks := s == unpacksInPlace || r.has("d decompress uncompress") || strings.HasPrefix(r.name, "un")
	if unpacks {
		c.carry(r.call, fromDecoder)
	}
	if r.has("c stdout to-stdout t test") || len(r.ops) == 0 && !c.s.Calls[r.call].More {
		return
	}
	if o, ok := r.value("o"); ok {
		if _, at := c.locate(&o, r.dir); at != nowhere {
			c.path(r, 'w', &o)
		}
		return
	}
	if r.op(0) == "-" {
		return
	}
	c.addCall(writeFile, r.call)
	for _, k := range r.ops {
		c.changed(r.call, &r.words[k], r.dir)
	}
	r.ops = r.ops[:0]
}

// openssl reads the command word: enc -d decodes, s_client connects.
func (c *classifier) openssl(r *reading) {
	switch r.op(0) {
	case "s_client", "s_server", "ocsp", "s_time", "cmp":
		c.addCall(netClient, r.call)
		c.carry(r.call, fromNetwork)
	case "enc", "base64", "cms", "smime", "pkeyutl", "rsautl", "aes-256-cbc", "aes-128-cbc", "zlib", "des3", "bf":
		if r.has("d decrypt") {
			c.carry(r.call, fromDecoder)
		}
	case "dgst", "x509", "rsa", "pkey", "verify", "sha256", "md5", "asn1parse", "crl", "req":
		for _, k := range r.ops[1:] {
			c.path(r, 'r', &r.words[k])
		}
	}
}
