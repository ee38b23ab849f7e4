package seatbelt

import "github.com/sbx-run/sbx/sandbox/credentials"

// macHome lists places below a home directory where programs of macOS keep
// credentials, beside those of package credentials.
var macHome = [...]credentials.Place{
	{Path: "Library/Keychains", Why: "the user's keychains"},
	{Path: "Library/Cookies", Why: "cookies of the system's HTTP library"},
	{Path: "Library/HTTPStorages", Why: "the same, of later systems"},
	{Path: "Library/Safari", Why: "browser profile"},
	{Path: "Library/Containers/com.apple.Safari", Why: "browser profile"},
	{Path: "Library/Application Support/Google/Chrome*", Why: "browser profiles: cookies, passwords"},
	{Path: "Library/Application Support/Chromium", Why: "browser profile"},
	{Path: "Library/Application Support/BraveSoftware", Why: "browser profiles"},
	{Path: "Library/Application Support/Microsoft Edge*", Why: "browser profiles"},
	{Path: "Library/Application Support/Vivaldi", Why: "browser profile"},
	{Path: "Library/Application Support/Arc", Why: "browser profile"},
	{Path: "Library/Application Support/Firefox", Why: "browser profiles"},
	{Path: "Library/Application Support/Thunderbird", Why: "mail profiles"},
	{Path: "Library/Application Support/Slack", Why: "session tokens"},
	{Path: "Library/Application Support/discord", Why: "session tokens"},
	{Path: "Library/Application Support/Signal", Why: "messages"},
	{Path: "Library/Application Support/1Password*", Why: "passwords"},
	{Path: "Library/Group Containers/2BUA8C4S2C.com.1password", Why: "passwords"},
	{Path: "Library/Application Support/Bitwarden*", Why: "passwords"},
	{Path: "Library/Application Support/gcloud", Why: "tokens"},
	{Path: "Library/Application Support/com.vercel.cli", Why: "Vercel token"},
	{Path: "Library/Preferences/com.apple.Terminal.plist", Why: "window titles, commands"},
	{Path: "Library/Accounts", Why: "accounts of the system"},
	{Path: "Library/IdentityServices", Why: "keys of messages"},
	{Path: "Library/Mail", Why: "mail"},
	{Path: "Library/Messages", Why: "messages"},
	{Path: "Library/Caches/com.apple.Safari", Why: "what was visited"},
}

// macSystem lists what nobody but root may read, beside package credentials.
var macSystem = [...]credentials.Place{
	{Path: "/Library/Keychains", Why: "the system's keychains"},
	{Path: "/private/etc/master.passwd", Why: "password hashes"},
	{Path: "/private/var/db/dslocal", Why: "password hashes of users"},
	{Path: "/private/var/db/SystemKey", Why: "opens the system's keychain"},
	{Path: "/private/var/at", Why: "jobs of users"},
	{Path: "/private/var/run/docker.sock", Why: "the container engine"},
}

// services are the Mach services that a command may look up. All others are shut:
// some do on request what the command itself may not, as launchd and
// coreservices open programs, and securityd the keychain.
var services = [...]struct{ name, why string }{
	{"com.apple.system.opendirectoryd.libinfo", "getpwnam: id, git, ssh, python's expanduser"},
	{"com.apple.system.opendirectoryd.membership", "groups of the user: id"},
	{"com.apple.system.notification_center", "libc hears of a new time zone by it"},
	{"com.apple.system.logger", "syslog"},
	{"com.apple.logd", "os_log, which frameworks call as they load"},
	{"com.apple.bsd.dirhelper", "confstr for the user's temp directory: xcrun, clang"},
	{"com.apple.PowerManagement.control", "node and Electron ask whether the machine sleeps"},
}

// netServices are those that a command needs to use a network.
var netServices = [...]struct{ name, why string }{
	{"com.apple.SystemConfiguration.configd", "proxies and interfaces: python's urllib, curl"},
	{"com.apple.SystemConfiguration.DNSConfiguration", "name servers: libresolv"},
	{"com.apple.trustd", "certificates: Go's crypto/x509"},
	{"com.apple.trustd.agent", "certificates of the user: curl, git, swift"},
	{"com.apple.networkd", "connections of the system's HTTP library"},
}
