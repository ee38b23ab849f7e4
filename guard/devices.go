package guard

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// device is what a path below /dev or /proc is.
type device uint8

const (
	noDevice device = iota
	diskDevice
	memoryDevice
	sysrqTrigger
)

// deviceOf judges a path. open says that more of the last name is unknown.
func deviceOf(p []element, open bool) device {
	if len(p) == 2 && p[0].name == "proc" && p[1].name == "sysrq-trigger" {
		return sysrqTrigger
	}
	if len(p) < 2 || p[0].name != "dev" {
		return noDevice
	}
	name := p[1].name
	if len(p) == 2 {
		switch name {
		case "mem", "kmem", "port":
			if !open {
				return memoryDevice
			}
		}
		if diskName(name, open, p[1].pattern) {
			return diskDevice
		}
		return noDevice
	}
	switch name {
	case "disk", "md", "zvol", "block", "cciss":
		return diskDevice
	case "mapper":
		if p[2].name != "control" {
			return diskDevice
		}
	}
	// Logical volumes: /dev/GROUP/VOLUME.
	if len(p) == 3 && (strings.HasPrefix(name, "vg") || strings.HasSuffix(name, "vg")) {
		return diskDevice
	}
	return noDevice
}

// diskName reports whether a name below /dev is a disk, a partition or a
// volume: sda1, hdb, vda, xvda, nvme0n1p2, mmcblk0p1, disk2s1, rdisk2, md0,
// dm-0, loop0 and the like. sdX stands for any of them.
func diskName(name string, open, pattern bool) bool {
	for _, prefix := range [...]string{"sd", "hd", "vd", "xvd", "dasd"} {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		letters := 0
		for letters < len(rest) && isLetter(rest[letters]) {
			letters++
		}
		if rest == "" && (open || pattern) || pattern && letters < 3 {
			return true
		}
		return letters > 0 && letters < 4 && partition(rest[letters:])
	}
	for _, prefix := range [...]string{
		"nvme", "mmcblk", "disk", "rdisk", "md", "dm-", "loop", "nbd", "zram", "ram", "mtd", "mtdblock", "pmem", "bcache", "rbd", "drbd", "zd",
		"ada", "da", "nvd", "vtbd", "wd", "ubiblock", "md_d",
	} {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && (rest == "" && (open || pattern) && len(prefix) > 3 || rest != "" && (isDigit(rest[0]) || rest[0] == 'X' || pattern)) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// partition reports whether a string can be the number of a partition, or a
// placeholder for it.
func partition(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isDigit(s[i]) && s[i] != 'X' && s[i] != 'Y' && s[i] != 'N' && strings.IndexByte("*?[]-", s[i]) < 0 {
			return false
		}
	}
	return true
}

// device finds what a word names. The beginning of a path is enough.
func (k *checker) device(c *shell.Call, w *shell.Word) (device, string) {
	v, all := certain(k.s, w)
	if !all {
		v = w.Prefix
	}
	if v == "" || v[0] != '/' && !strings.HasPrefix(c.Dir, "/dev") && !strings.HasPrefix(c.Dir, "/proc") && !strings.Contains(v, "../") {
		return noDevice, ""
	}
	var buf [24]element
	p, ok := elements(c.Dir, v, w.Glob, buf[:])
	if !ok || !all && strings.HasSuffix(v, "/") && len(p) < 3 {
		if !ok || len(p) < 2 {
			return noDevice, ""
		}
		p = append(p, element{name: "?"})
	}
	if d := deviceOf(p, !all); d != noDevice {
		return d, pathString(p)
	}
	return noDevice, ""
}

// writes judges a file that the call writes to.
func (k *checker) writes(i int, c *shell.Call, w *shell.Word) {
	d, shown := k.device(c, w)
	if d == noDevice && len(k.links) > 0 {
		d, shown = k.throughLink(c, w)
	}
	if (d == diskDevice || d == memoryDevice) && k.allows(rows[wayDisk].ID, shown) {
		return
	}
	switch d {
	case diskDevice:
		k.report(wayDisk, i, shown, writing(c, shown))
	case memoryDevice:
		k.report(wayMemory, i, shown, writing(c, shown))
	case sysrqTrigger:
		k.report(waySysrq, i, shown, writing(c, shown))
	}
}

// link is a symbolic link that the command made before.
type link struct {
	path   string
	call   *shell.Call
	target *shell.Word
}

// noteLink remembers ln -s TARGET NAME, for the case that a later call writes
// to NAME.
func (k *checker) noteLink(c *shell.Call) {
	o := options{args: c.Args(), takes: "St", long: "suffix target-directory"}
	var operands []*shell.Word
	symbolic := false
	for a, ok := o.next(); ok; a, ok = o.next() {
		if a.operand() {
			operands = append(operands, a.value)
		}
		symbolic = symbolic || a.is('s', "symbolic")
	}
	if !symbolic || len(operands) != 2 || len(k.links) >= maxWritten {
		return
	}
	if v, ok := certain(k.s, operands[1]); ok && v != "" {
		k.links = append(k.links, link{k.below(c.Dir, v), c, operands[0]})
	}
}

// throughLink judges what a link of the same command leads to.
func (k *checker) throughLink(c *shell.Call, w *shell.Word) (device, string) {
	v, ok := certain(k.s, w)
	if !ok || v == "" {
		return noDevice, ""
	}
	path := k.below(c.Dir, v)
	for j := range k.links {
		if l := &k.links[j]; l.path == path && path != "" {
			return k.device(l.call, l.target)
		}
	}
	return noDevice, ""
}

// writing prints the program and the word that names the device, or the
// redirection.
func writing(c *shell.Call, shown string) string {
	if len(c.Words) == 0 {
		return "> " + shown
	}
	for j := range c.Args() {
		if v := known(&c.Args()[j]); strings.HasSuffix(v, shown) || strings.HasPrefix(v, "of=") {
			return known(&c.Words[0]) + " " + v
		}
	}
	return known(&c.Words[0]) + " > " + shown
}

// writesOperands judges programs that write to all their operands: tee.
func (k *checker) writesOperands(i int, c *shell.Call) {
	o := options{args: c.Args()}
	for a, ok := o.next(); ok; a, ok = o.next() {
		if a.operand() {
			k.writes(i, c, a.value)
		}
	}
}

// dd judges dd of=FILE.
func (k *checker) dd(i int, c *shell.Call) {
	args := c.Args()
	for j := range args {
		v := known(&args[j])
		for _, prefix := range [...]string{"of=", "ofs=", "hof="} {
			if strings.HasPrefix(v, prefix) {
				k.writes(i, c, tail(&args[j], len(prefix)))
			}
		}
	}
}
