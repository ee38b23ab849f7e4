package secretsenv

import (
	"encoding/base64"
	"strings"
)

const (
	whyURL     = "holds an address with a password in it"
	whyPEM     = "holds a private key"
	whyToken   = "holds a token of a known service"
	whyJWT     = "holds a signed token (JWT)"
	whyHeader  = "holds an authorization header"
	whySetting = "holds a setting that is a credential"
	whyHook    = "holds an address that is itself the credential"
)

// shortest is the length in bytes below which a value is not looked at: no
// known credential is shorter.
const shortest = 8

// longestArmour bounds the look back from "PRIVATE KEY" to "-----BEGIN".
const longestArmour = 64

// holdsCredential says why a value is or holds a credential. It reads the
// value once, word by word, in linear time.
func holdsCredential(v string) string {
	if len(v) < shortest {
		return ""
	}
	if holdsUserInfo(v) {
		return whyURL
	}
	last := ""        // the word before the present one
	kinds := uint8(0) // classes of the bytes of the present word
	for start, i := 0, 0; i <= len(v); i++ {
		if i < len(v) && isWordByte(v[i]) {
			kinds |= classes[v[i]]
			continue
		}
		word := v[start:i]
		if len(word) >= shortest && kinds != lower { // no token is small letters alone
			if why := isToken(word, len(word) == len(v)); why != "" {
				return why
			}
		}
		kinds = 0
		if i == len(v) {
			break
		}
		if c := v[i]; c == '=' || c == ':' || c == ' ' {
			if why := afterWord(v, start, i, last); why != "" {
				return why
			}
		}
		if word != "" {
			last = word
		}
		start = i + 1
	}
	return ""
}

// afterWord looks at what follows the word v[start:i], by the byte at i.
func afterWord(v string, start, i int, last string) string {
	word, rest := v[start:i], v[i+1:]
	switch v[i] {
	case '=':
		if (start == 0 || v[start-1] != '/') && isSecretSetting(word) && hasSettingValue(rest) {
			return whySetting
		}
	case ':':
		switch {
		case strings.HasPrefix(rest, "//"):
			return addressCredential(rest[2:])
		case word == "" && i > 0 && (v[i-1] == '"' || v[i-1] == '\''): // "password": "x"
			word = last
		case isDigits(word, 6, 12) && wordLength(rest) >= 30:
			return whyToken // Telegram: number:token
		case rest == "" || rest[0] != ' ': // a:b is a path list or host:port
			return ""
		}
		if isSecretSetting(word) && hasSettingValue(rest) {
			return whySetting
		}
	case ' ':
		if word == "PRIVATE" && strings.HasPrefix(rest, "KEY") && strings.Contains(v[max(0, i-longestArmour):i], "-----BEGIN") {
			return whyPEM
		}
		if strings.EqualFold(word, "bearer") && wordLength(rest) >= shortest && (start == 0 || hasDigit(rest[:wordLength(rest)])) ||
			strings.EqualFold(word, "basic") && isBasicHeader(rest) {
			return whyHeader
		}
	}
	return ""
}

// longestUserInfo bounds the look ahead from each "://", so that reading a
// value stays linear.
const longestUserInfo = 2048

// addressCredential judges what follows "scheme://".
func addressCredential(rest string) string {
	for _, h := range hookAddresses {
		if strings.HasPrefix(rest, h) && len(rest) > len(h) {
			return whyHook
		}
	}
	rest = rest[:min(len(rest), longestUserInfo)]
	text := rest[:lengthUntil(rest, " \t\n\"'<>")]
	authority := text[:lengthUntil(text, "/?#")]
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		// A password with a slash in it ends the authority early. host:80/x@y
		// has a port before the slash instead.
		user, pass, ok := strings.Cut(authority, ":")
		if ok && user != "" && !isDigits(pass, 0, 5) && strings.IndexByte(text, '@') > 0 {
			return whyURL
		}
		return ""
	}
	user, pass, _ := strings.Cut(authority[:at], ":")
	if pass != "" || isOpaque(user) {
		return whyURL
	}
	return ""
}

// hookAddresses are addresses that whoever knows them may post to.
var hookAddresses = [...]string{
	"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/",
	"discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "api.telegram.org/bot",
	"hooks.zapier.com/hooks/catch/", "hooks.airtable.com/workflows/", "open.feishu.cn/open-apis/bot/", "open.larksuite.com/open-apis/bot/", "outlook.office.com/webhook/",
}

// holdsUserInfo finds user:password@host:port or user:password@tcp(…), the
// forms without a scheme. image:tag@sha256:… and user@host:path are not it.
func holdsUserInfo(v string) bool {
	user, rest, ok := strings.Cut(v, ":")
	if !ok || user == "" || strings.ContainsAny(user, "/@ \t\n") {
		return false
	}
	pass, host, ok := strings.Cut(rest, "@")
	if !ok || pass == "" || strings.ContainsAny(pass, " \t\n") || strings.HasPrefix(pass, "//") {
		return false
	}
	if strings.HasPrefix(host, "tcp(") || strings.HasPrefix(host, "unix(") || host == "localhost" {
		return true
	}
	name := host[:lengthUntil(host, ":/")]
	after := host[len(name):]
	if name == "" || name == "sha256" || strings.ContainsAny(name, " \t\n") || len(after) < 2 {
		return false
	}
	return after[0] == '/' || isDigit(after[1])
}

// isOpaque reports a user name that is no name: Sentry, npm and git hosts take
// a token in its place.
func isOpaque(user string) bool { return len(user) >= 20 && hasDigit(user) }

// isSecretSetting reports a key, inside a value, whose own value is a
// credential: password=, --token=, -Djavax.net.ssl.keyStorePassword=,
// AccountKey=, "client_secret":. Plain "key" is not one: LS_COLORS has it.
func isSecretSetting(word string) bool {
	var buf [24]byte // the longest end below, with room
	n := len(buf)
	for i := len(word) - 1; i >= 0 && n > 0; i-- {
		c := word[i]
		if !isAlnum(c) {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		n--
		buf[n] = c
	}
	w := buf[n:]
	switch string(w) {
	case "sig", "signature", "xamzsignature", "auth", "identitytoken":
		return true // signed addresses; docker's config
	}
	if len(w) < 3 {
		return false
	}
	switch w[len(w)-1] {
	case 'd':
		return ends(w, "password") || ends(w, "passwd") || ends(w, "pwd")
	case 't':
		return ends(w, "secret") || ends(w, "passwort")
	case 'n':
		return ends(w, "token") || ends(w, "authorization")
	case 'y':
		return ends(w, "apikey") || ends(w, "accesskey") || ends(w, "accountkey") || ends(w, "secretkey") ||
			ends(w, "privatekey") || ends(w, "authkey")
	case 'e':
		return ends(w, "passphrase") || ends(w, "cookie")
	}
	return false
}

// hasSettingValue reports whether a real value follows.
func hasSettingValue(rest string) bool {
	rest = strings.TrimLeft(rest, " \"'")
	rest = rest[:lengthUntil(rest, " \t\n&;,\"'}")]
	return !isSwitch(rest) && !isCount(rest)
}

// isBasicHeader reports base64 of user:password.
func isBasicHeader(rest string) bool {
	text := rest[:lengthUntil(rest, " \t\n\"'")]
	if len(text) > 1024 {
		text = text[:1024]
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return err == nil && strings.IndexByte(string(plain), ':') >= 0
}

// lengthUntil is the number of bytes before the first of stops.
func lengthUntil(s, stops string) int {
	if i := strings.IndexAny(s, stops); i >= 0 {
		return i
	}
	return len(s)
}

// wordLength is the number of word bytes that s begins with.
func wordLength(s string) int {
	for i := range len(s) {
		if !isWordByte(s[i]) {
			return i
		}
	}
	return len(s)
}

func isDigits(s string, least, most int) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return least <= len(s) && len(s) <= most
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
