package secretsenv

import "strings"

// row is one variable of a table, or one prefix of variables.
type row struct {
	name string
	why  string
	// harmless, where set, names the values with which the variable stays.
	harmless func(value string) bool
}

// find looks a name up in a table sorted by name. It is written out because
// it runs for each variable and slices.BinarySearchFunc copies the rows.
func find(table []row, name string) (row, bool) {
	low, high := 0, len(table)
	for low < high {
		mid := int(uint(low+high) / 2)
		if table[mid].name < name {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == len(table) || table[low].name != name {
		return row{}, false
	}
	return table[low], true
}

// findPrefix looks for the first row whose name begins the given one.
func findPrefix(table []row, name string) (row, bool) {
	for i := range table {
		if strings.HasPrefix(name, table[i].name) {
			return table[i], true
		}
	}
	return row{}, false
}

// opensDoor says which live agent or daemon a variable leads to. Some of these
// sockets cannot be closed in every tier; without the address a program does
// not find them by itself.
func opensDoor(name string) string {
	if r, ok := find(doors, name); ok {
		return r.why
	}
	if r, ok := findPrefix(doorPrefixes, name); ok {
		return r.why
	}
	return ""
}

const (
	whyContainers = "leads to a container daemon, which is root on this host"
	whyBus        = "leads to a message bus, which starts programs outside"
	whyDisplay    = "leads to the display, where a client reads keys and types into windows"
	whyEditor     = "leads to an editor outside, which runs commands for its clients"
	whyTerminal   = "leads to a terminal outside, which types for its clients"
	whyKeyring    = "leads to an agent that holds unlocked keys"
	whyAskpass    = "names a program that hands out passwords"
	whySystemd    = "leads to the service manager"
)

// doors is sorted by name.
var doors = []row{
	{name: "ALACRITTY_SOCKET", why: whyTerminal},
	{name: "AT_SPI_BUS_ADDRESS", why: whyBus},
	{name: "BUILDKIT_HOST", why: whyContainers},
	{name: "CONTAINERD_ADDRESS", why: whyContainers},
	{name: "CONTAINERD_NAMESPACE", why: whyContainers},
	{name: "CONTAINER_CONNECTION", why: whyContainers},
	{name: "CONTAINER_HOST", why: whyContainers},
	{name: "DBUS_LAUNCHD_SESSION_BUS_SOCKET", why: whyBus},
	{name: "DBUS_SESSION_BUS_ADDRESS", why: whyBus},
	{name: "DBUS_SESSION_BUS_PID", why: whyBus},
	{name: "DBUS_STARTER_ADDRESS", why: whyBus},
	{name: "DBUS_SYSTEM_BUS_ADDRESS", why: whyBus},
	{name: "DISPLAY", why: whyDisplay},
	{name: "DOCKER_CONTEXT", why: whyContainers},
	{name: "DOCKER_HOST", why: whyContainers},
	{name: "EMACS_SERVER_FILE", why: whyEditor},
	{name: "EMACS_SOCKET_NAME", why: whyEditor},
	{name: "GNOME_KEYRING_CONTROL", why: whyKeyring},
	{name: "GNOME_KEYRING_PID", why: whyKeyring},
	{name: "GPG_AGENT_INFO", why: whyKeyring},
	{name: "HYPRLAND_INSTANCE_SIGNATURE", why: whyDisplay},
	{name: "I3SOCK", why: whyDisplay},
	{name: "IBUS_ADDRESS", why: "leads to the input method, which sees every key"},
	{name: "ICEAUTHORITY", why: whyDisplay},
	{name: "INCUS_DIR", why: whyContainers},
	{name: "INCUS_SOCKET", why: whyContainers},
	{name: "KITTY_LISTEN_ON", why: whyTerminal},
	{name: "KRB5CCNAME", why: "leads to the tickets of a live login"},
	{name: "KUBECONFIG", why: "leads to a cluster together with the keys to it"},
	{name: "LIBVIRT_DEFAULT_URI", why: "leads to the virtual machine manager"},
	{name: "LISTEN_FDNAMES", why: whySystemd},
	{name: "LISTEN_FDS", why: whySystemd},
	{name: "LISTEN_PID", why: whySystemd},
	{name: "LXD_DIR", why: whyContainers},
	{name: "LXD_SOCKET", why: whyContainers},
	{name: "NOTIFY_SOCKET", why: whySystemd},
	{name: "NVIM", why: whyEditor},
	{name: "NVIM_LISTEN_ADDRESS", why: whyEditor},
	{name: "PIPEWIRE_REMOTE", why: "leads to the sound and screen server"},
	{name: "PULSE_SERVER", why: "leads to the sound server"},
	{name: "REMOTE_CONTAINERS_IPC", why: whyEditor},
	{name: "REMOTE_CONTAINERS_SOCKETS", why: whyEditor},
	{name: "SESSION_MANAGER", why: "leads to the desktop's session manager"},
	{name: "SSH_AGENT_PID", why: whyKeyring},
	{name: "SSH_ASKPASS", why: whyAskpass},
	{name: "SSH_ASKPASS_REQUIRE", why: whyAskpass},
	{name: "SSH_AUTH_SOCK", why: whyKeyring},
	{name: "STY", why: whyTerminal},
	{name: "SUDO_ASKPASS", why: whyAskpass},
	{name: "SWAYSOCK", why: whyDisplay},
	{name: "TMUX", why: whyTerminal},
	{name: "TMUX_PANE", why: whyTerminal},
	{name: "WAYLAND_DISPLAY", why: whyDisplay},
	{name: "WAYLAND_SOCKET", why: whyDisplay},
	{name: "WEZTERM_UNIX_SOCKET", why: whyTerminal},
	{name: "XAUTHORITY", why: whyDisplay},
	{name: "XDG_RUNTIME_DIR", why: "is where bus, display and agent sockets are found by their fixed names"},
}

// doorPrefixes holds families of names.
var doorPrefixes = []row{
	{name: "VSCODE_IPC_", why: whyEditor},
	{name: "VSCODE_GIT_", why: whyEditor}, // askpass helper and its socket
	{name: "ZELLIJ", why: whyTerminal},
}
