package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// format judges programs that make file systems, erase disks or write to them
// by an option.
func (k *checker) format(i int, c *shell.Call, name string) {
	switch name {
	case "mkfs", "mke2fs", "newfs", "mkdosfs", "mkntfs", "mkexfatfs", "mkreiserfs", "mkfs_msdos":
		k.makeFS(i, c, name)
	case "mkswap":
		k.erase(wayFormat, i, c, "LUpeo", "label uuid pagesize endianness offset swapversion size lock", "check")
	case "wipefs":
		if hasOption(c, "obtOp", "offset backup types output", 'a', "all") && !hasOption(c, "obtOp", "offset backup types output", 'n', "no-act") {
			k.erase(wayErase, i, c, "obtOp", "offset backup types output", "")
		}
	case "blkdiscard":
		k.erase(wayErase, i, c, "olps", "offset length step", "")
	case "cryptsetup":
		k.subcommand(wayFormat, i, c, "luksFormat erase luksErase")
	case "nvme":
		k.subcommand(wayErase, i, c, "format sanitize")
	case "diskutil":
		k.subcommand(wayErase, i, c, "eraseDisk eraseVolume partitionDisk zeroDisk randomDisk secureErase reformat")
	case "sgdisk", "gdisk":
		if hasOption(c, "", "", 'Z', "zap-all") || hasOption(c, "", "", 'z', "zap") || hasOption(c, "", "", 'o', "clear") {
			k.onDevice(wayPartition, i, c)
		}
	case "parted":
		if hasWord(c, "mklabel") || hasWord(c, "mktable") {
			k.onDevice(wayPartition, i, c)
		}
	case "sfdisk":
		if args := c.Args(); hasLong(c, "delete") && len(args) > 0 && k.isDevice(c, &args[len(args)-1]) { // no partition number: all of them
			k.onDevice(wayPartition, i, c)
		}
	case "hdparm":
		for _, w := range c.Args() {
			if strings.HasPrefix(w.Value, "--security-erase") || w.Value == "--trim-sector-ranges" || w.Value == "--dco-restore" {
				k.onDevice(wayErase, i, c)
			}
		}
	case "sg_format", "sg_sanitize", "nwipe", "scrub":
		if !hasOption(c, "", "", 0, "help") {
			k.onDevice(wayErase, i, c)
		}
	case "badblocks":
		if hasOption(c, "bcdeopti", "", 'w', "") {
			k.onDevice(wayDisk, i, c)
		}
	case "curl":
		k.writesOption(i, c, 'o', "output", "o")
	case "wget":
		k.writesOption(i, c, 'O', "output-document", "O")
	case "pv":
		k.writesOption(i, c, 'o', "output", "o")
	case "openssl":
		k.writesAfter(i, c, "-out")
	case "ddrescue", "dd_rescue":
		k.writesOperand(i, c, 1, "abBceEHiIKlLmoOQrsTX")
	case "qemu-img":
		if hasWord(c, "convert") {
			k.writesOperand(i, c, -1, "fFOoTtlSmr")
		}
		k.dd(i, c)
	case "xxd":
		k.writesOperand(i, c, 1, "clsog")
	default: // mkfs.TYPE, newfs_TYPE
		k.makeFS(i, c, name)
	}
}

// makeFS judges mkfs: on anything but a literal regular file in the workspace
// or below /tmp it is refused.
func (k *checker) makeFS(i int, c *shell.Call, name string) {
	kind := strings.TrimPrefix(strings.TrimPrefix(name, "mkfs"), ".")
	o := options{args: c.Args(), takes: "tdLUTEOoiIbNmMJzl", long: "type label uuid rootdir"}
	var target *shell.Word
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.operand():
			if target == nil || k.isDevice(c, a.value) {
				target = a.value
			}
		case a.long && (a.name == "help" || a.name == "version" || a.name == "dry-run"), a.name == "V" && !a.long && (name != "mkfs" || len(c.Words) == 2):
			return
		case (a.name == "t" || a.name == "type") && a.value != nil && name == "mkfs":
			kind = a.value.Value
		case a.name == "n" && !a.long && dryRun(kind), a.name == "N" && (kind == "xfs"):
			return
		}
	}
	if target == nil && !c.More {
		return // it prints its usage
	}
	if target == nil {
		k.report(wayFormat, i, "what it is given", spelled(c, ""))
		return
	}
	if v, ok := certain(k.s, target); ok && !k.isDevice(c, target) && !strings.Contains(v, "{}") {
		var buf [24]element
		if p, ok := elements(c.Dir, v, false, buf[:]); ok && k.inside(p) {
			return
		}
	}
	if !k.allows(rows[wayFormat].ID, k.object(c, target)) {
		k.report(wayFormat, i, k.object(c, target), spelled(c, k.object(c, target)))
	}
}

// dryRun reports whether -n means "do not write": for FAT and exFAT it is the
// label of the volume.
func dryRun(kind string) bool {
	switch kind {
	case "", "ext2", "ext3", "ext4", "ntfs", "e2fs", "mke2fs", "mkntfs":
		return true
	}
	return false
}

func (k *checker) isDevice(c *shell.Call, w *shell.Word) bool {
	v := known(w)
	if v == "" {
		return !w.Literal
	}
	var buf [24]element
	p, ok := elements(c.Dir, v, w.Glob, buf[:])
	return ok && len(p) > 1 && p[0].name == "dev" && p[1].name != "null" && p[1].name != "stdout" && p[1].name != "stderr" && p[1].name != "fd" && p[1].name != "shm"
}

// object prints an operand: its value, or its source when that is not known.
func (k *checker) object(c *shell.Call, w *shell.Word) string {
	if v, ok := certain(k.s, w); ok {
		var buf [24]element
		if p, ok := elements(c.Dir, v, w.Glob, buf[:]); ok {
			return pathString(p)
		}
		return v
	}
	return k.s.Slice(w.Span)
}

// erase judges a program whose operands are devices. A literal path that is
// not below /dev is an image file.
func (k *checker) erase(w way, i int, c *shell.Call, takes, long, dry string) {
	o := options{args: c.Args(), takes: takes, long: long}
	for a, ok := o.next(); ok; a, ok = o.next() {
		switch {
		case a.long && (a.name == "help" || a.name == "version" || a.name == dry && dry != ""), a.name == "V" || a.name == "h":
			return
		case a.operand() && k.isDevice(c, a.value) && !k.allows(rows[w].ID, k.object(c, a.value)):
			k.report(w, i, k.object(c, a.value), spelled(c, k.object(c, a.value)))
			return
		}
	}
	if c.More {
		k.report(w, i, "what it is given", spelled(c, ""))
	}
}

func (k *checker) onDevice(w way, i int, c *shell.Call) { k.erase(w, i, c, "", "", "") }

// subcommand judges TOOL VERB DEVICE.
func (k *checker) subcommand(w way, i int, c *shell.Call, verbs string) {
	args := c.Args()
	for j := range args {
		if !listed(verbs, args[j].Value) {
			continue
		}
		rest := *c
		rest.Words = append([]shell.Word{c.Words[0]}, args[j+1:]...)
		o := options{args: args[j+1:], takes: "clshsd"}
		for a, ok := o.next(); ok; a, ok = o.next() {
			switch {
			case a.long && a.name == "help":
				return
			case a.operand() && (k.isDevice(c, a.value) || program(c) == "diskutil" && diskName(a.value.Value, false, false)) &&
				!k.allows(rows[w].ID, k.object(c, a.value)):
				k.report(w, i, k.object(c, a.value), spelled(c, args[j].Value+" "+k.object(c, a.value)))
				return
			}
		}
		return
	}
}

func hasOption(c *shell.Call, takes, long string, short byte, name string) bool {
	o := options{args: c.Args(), takes: takes, long: long}
	for a, ok := o.next(); ok; a, ok = o.next() {
		if !a.operand() && a.is(short, name) {
			return true
		}
	}
	return false
}

func hasWord(c *shell.Call, word string) bool {
	for j := range c.Args() {
		if literal(&c.Args()[j], word) {
			return true
		}
	}
	return false
}

// writesOption judges a program that writes to the value of an option.
func (k *checker) writesOption(i int, c *shell.Call, short byte, name, takes string) {
	o := options{args: c.Args(), takes: takes, long: name}
	for a, ok := o.next(); ok; a, ok = o.next() {
		if !a.operand() && a.is(short, name) && a.value != nil {
			k.writes(i, c, a.value)
		}
	}
}

// writesOperand judges a program that writes to its nth operand; -1 is the last.
func (k *checker) writesOperand(i int, c *shell.Call, n int, takes string) {
	o := options{args: c.Args(), takes: takes}
	var operands []*shell.Word
	for a, ok := o.next(); ok; a, ok = o.next() {
		if a.operand() {
			operands = append(operands, a.value)
		}
	}
	if n < 0 {
		n = len(operands) - 1
	}
	if n > 0 && n < len(operands) {
		k.writes(i, c, operands[n])
	}
}

func (k *checker) writesAfter(i int, c *shell.Call, option string) {
	args := c.Args()
	for j := range args {
		if args[j].Value == option && j+1 < len(args) {
			k.writes(i, c, &args[j+1])
		}
	}
}
