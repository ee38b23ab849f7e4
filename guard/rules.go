package guard

import "strings"

// Rule is one row of the table: what is refused, why, and what to do instead.
// Several rows share an ID when the same harm has several ways.
type Rule struct {
	ID      string
	Reason  string
	Instead string
	Match   string // a command that the row refuses
	Spare   string // a look-alike that it does not refuse
}

// way is the index of a row.
type way uint8

const (
	wayDelete way = iota
	wayUnset
	wayFind
	wayMode
	wayMove
	wayClean
	waySync
	wayFormat
	wayPartition
	wayErase
	wayDisk
	wayMemory
	wayPower
	waySysrq
	wayBomb
	wayPepe
	wayModules
	wayControls
)

// anyPlace stands for the object of a reason in the printed table.
const anyPlace = "a system directory, the home directory or a directory around the workspace"

const namePaths = "name the files or subdirectories of the workspace that are meant, for example ./build"

// rows is the table. % in a reason is the object.
var rows = [...]Rule{
	wayDelete: {
		ID: "delete-system", Reason: "it deletes %, with all that is below", Instead: namePaths,
		Match: "rm -rf /etc", Spare: "rm -rf ./etc",
	},
	wayUnset: {
		ID: "delete-system", Reason: "the variable is never set in this command, and the path is / when it is empty",
		Instead: `write "${NAME:?}"/ so that the shell stops when the variable is empty, or set it in the same command`,
		Match:   `rm -rf "$UNSET"/*`, Spare: `rm -rf "${UNSET:?}"/*`,
	},
	wayFind: {
		ID: "delete-system", Reason: "no name, path, age or size test narrows what is found below %, so all of it is deleted or changed",
		Instead: "add a test such as -name '*.tmp' before the action, or start in a subdirectory of the workspace",
		Match:   "find / -type f -delete", Spare: "find / -name '*.tmp' -delete",
	},
	wayMode: {
		ID: "delete-system", Reason: "it changes owner or permissions of %, with all that is below, which breaks the system or locks the user out",
		Instead: "change only the files or subdirectories that need it",
		Match:   "chmod -R 777 /", Spare: "chmod -R 755 .",
	},
	wayMove: {
		ID: "delete-system", Reason: "it moves % away", Instead: "move single files, or copy them with cp -a",
		Match: "mv ~ /dev/null", Spare: "mv ./etc ./old-etc",
	},
	wayClean: {
		ID: "delete-system", Reason: "it deletes every untracked file in %",
		Instead: "run it in a repository of the workspace, and look at git clean -n first",
		Match:   "git -C / clean -fdx", Spare: "git clean -fd",
	},
	waySync: {
		ID: "delete-system", Reason: "it deletes all of % that the source does not hold",
		Instead: "synchronise into a subdirectory of the workspace, and look at --dry-run first",
		Match:   "rsync -a --delete empty/ /", Spare: "rsync -a --delete src/ copy/",
	},
	wayFormat: {
		ID: "format-device", Reason: "it makes a new file system or swap area on %, and what was on it is lost",
		Instead: "work on an image file in the workspace, for example one made with truncate -s 1G disk.img",
		Match:   "mkfs.ext4 /dev/sda1", Spare: "mkfs.ext4 -n /dev/sda1",
	},
	wayPartition: {
		ID: "format-device", Reason: "it replaces the partition table of %",
		Instead: "print the table with sgdisk -p or lsblk, or work on an image file in the workspace",
		Match:   "sgdisk --zap-all /dev/sda", Spare: "sgdisk -p /dev/sda",
	},
	wayErase: {
		ID: "format-device", Reason: "it erases % or the signatures on it",
		Instead: "look with wipefs or lsblk -f only, or work on an image file in the workspace",
		Match:   "wipefs -a /dev/sda", Spare: "wipefs /dev/sda",
	},
	wayDisk: {
		ID: "write-device", Reason: "it overwrites the disk device %",
		Instead: "write to an image file in the workspace",
		Match:   "dd if=/dev/zero of=/dev/sda", Spare: "dd if=/dev/sda of=mbr.bin count=1",
	},
	wayMemory: {
		ID: "write-device", Reason: "it writes to the memory of the running kernel through %",
		Instead: "there is no safe way to do this; ask the person you work for",
		Match:   "dd if=/dev/zero of=/dev/mem", Spare: "ls -l /dev/mem",
	},
	wayPower: {
		ID: "power-off", Reason: "it powers off or reboots the host, or stops what runs on it",
		Instead: "restart the one service or process that needs it, or ask the person you work for",
		Match:   "systemctl reboot", Spare: "systemctl restart nginx",
	},
	waySysrq: {
		ID: "power-off", Reason: "a write to /proc/sysrq-trigger makes the kernel reboot, crash or power off at once",
		Instead: "restart the one service or process that needs it, or ask the person you work for",
		Match:   "echo b > /proc/sysrq-trigger", Spare: "cat /proc/sys/kernel/sysrq",
	},
	wayBomb: {
		ID: "fork-bomb", Reason: "it starts copies of itself without end, until the host can start no process",
		Instead: "start a bounded number of processes, for example with xargs -P 4",
		Match:   ":(){ :|:& };:", Spare: "f(){ ls | sort & }; f",
	},
	wayPepe: {
		ID: "agent-control", Reason: "the command line of the agent itself changes what the agent may do",
		Instead: "use the agent's own tools (config_set, manage_pepe, manage_agent), which ask the owner",
		Match:   "pepe config set a b", Spare: "cat pepe.md",
	},
	wayModules: {
		ID: "agent-control", Reason: "code that calls the agent's own modules goes around its permission gate",
		Instead: "use the agent's own tools (config_set, manage_pepe, manage_agent), which ask the owner",
		Match:   "elixir -e 'Pepe.Config.save(%{})'", Spare: `elixir -e 'IO.puts("hi")'`,
	},
	wayControls: {
		ID: "agent-control", Reason: "it changes the sandbox that confines the agent, or runs without one",
		Instead: "ask the person you work for to run it; sbx check, probe and doctor may be used",
		Match:   "sbx exec --backend none -- make", Spare: "sbx exec -- make",
	},
}

// Rules lists the table.
func Rules() []Rule {
	out := make([]Rule, len(rows))
	for i := range rows {
		out[i] = rows[i]
		out[i].Reason = rows[i].reason(anyPlace)
		if rows[i].ID != "delete-system" {
			out[i].Reason = rows[i].reason("/dev/…")
		}
	}
	return out
}

func (r *Rule) reason(what string) string { return strings.Replace(r.Reason, "%", what, 1) }
