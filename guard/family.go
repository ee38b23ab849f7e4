package guard

import "strings"

// family is what a program is judged as.
type family uint8

const (
	harmless   family = iota
	removers          // rm and its relatives
	finders           // find
	modes             // chmod, chown, chgrp
	movers            // mv
	copiers           // cp, install
	cleaners          // git
	syncers           // rsync
	archivers         // tar
	writers           // tee
	dds               // dd
	shells            // eval and sh -c of text that is not literal
	formatters        // mkfs, wipefs, and what writes to a file by an option
	powers            // reboot, systemctl
	controls          // pepe, mix, sbx
	languages         // interpreters that get code
	hosts             // tools that run the value of an option or operand
)

// familyOf finds the family of a program: one switch, through which nearly
// every command falls.
func familyOf(name string) family {
	switch name {
	case "":
		return harmless
	case "rm", "grm", "srm", "wipe", "rimraf", "del-cli", "trash", "trash-put", "safe-rm", "Remove-Item", "unlink", "gunlink",
		"shred", "gshred", "truncate", "gtruncate", "gio", "npx", "bunx":
		return removers
	case "find", "gfind", "bfs":
		return finders
	case "chmod", "gchmod", "chown", "gchown", "chgrp", "gchgrp":
		return modes
	case "mv", "gmv":
		return movers
	case "cp", "gcp", "install", "ginstall":
		return copiers
	case "git", "git-clean":
		return cleaners
	case "rsync":
		return syncers
	case "tar", "gtar", "bsdtar":
		return archivers
	case "tee", "gtee", "sponge":
		return writers
	case "dd", "gdd", "dcfldd", "dc3dd":
		return dds
	case "eval", "source", ".", "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "su", "sudo", "doas":
		return shells
	case "mkfs", "mke2fs", "newfs", "mkdosfs", "mkntfs", "mkexfatfs", "mkreiserfs", "mkfs_msdos", "mkswap", "wipefs", "blkdiscard", "cryptsetup", "nvme", "diskutil",
		"sgdisk", "gdisk", "parted", "sfdisk", "hdparm", "sg_format", "sg_sanitize", "nwipe", "scrub", "badblocks", "curl", "wget", "pv", "openssl",
		"ddrescue", "dd_rescue", "qemu-img", "xxd":
		return formatters
	case "shutdown", "reboot", "halt", "poweroff", "init", "runit-init", "telinit", "openrc-shutdown", "systemd-shutdown", "systemctl", "loginctl", "kexec", "rtcwake",
		"gnome-session-quit", "xfce4-session-logout", "dbus-send", "busctl", "gdbus", "qdbus", "Stop-Computer", "Restart-Computer":
		return powers
	case "pepe", "mix", "elixir", "iex", "erl", "sbx":
		return controls
	case "rg", "sort", "man", "ssh", "scp", "sftp", "socat", "nc", "ncat", "netcat", "nodemon", "concurrently", "xterm", "sed", "gsed",
		"less", "more", "most", "vim", "vi", "nvim", "ex", "ed", "view", "gvim", "go", "gcc", "g++", "cc", "clang", "gdb", "make", "gmake", "sqlite3", "psql", "mysql", "mariadb", "m4", "crontab", "tmux", "screen":
		return hosts
	case "awk", "gawk", "mawk", "nawk", "original-awk", "goawk", "python", "pypy", "ipython", "bpython", "perl", "ruby", "jruby", "irb", "node", "nodejs", "bun",
		"tsx", "ts-node", "qjs", "deno", "php", "lua", "luajit", "texlua", "R", "r", "Rscript", "littler", "osascript", "pwsh", "powershell", "groovy", "jshell", "scala", "kotlin",
		"julia", "expect", "tclsh", "emacs", "ghci", "ghc", "runghc", "raku", "perl6", "ocaml", "clojure", "clj", "bb", "babashka", "guile", "racket", "swipl", "octave", "gnuplot",
		"gjs", "mongosh", "mongo", "rails", "jython", "micropython", "sage":
		return languages
	}
	switch name[0] {
	case 'm', 'n':
		if strings.HasPrefix(name, "mkfs.") || strings.HasPrefix(name, "newfs_") {
			return formatters
		}
	case 'p', 'r', 'l', 't':
	default:
		return harmless
	}
	if short := strings.TrimRight(name, "0123456789.-"); short != name && short != "" { // python3.11, lua5.4
		if f := familyOf(short); f == languages {
			return f
		}
	}
	return harmless
}
