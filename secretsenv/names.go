package secretsenv

import "strings"

// strength says how sure a word is.
type strength uint8

const (
	sure strength = iota
	// unlessNumber: also counts things. MAX_TOKENS=4096 is a setting,
	// API_TOKENS=a1b2,c3d4 is not.
	unlessNumber
	// unlessSwitch: also names a phase or a mode. FIRST_PASS=1 is a setting,
	// DB_PASS=123456 is not.
	unlessSwitch
)

// excused reports whether the value shows that the word means no credential.
func (s strength) excused(value string) bool {
	switch s {
	case unlessNumber:
		return isSwitch(value) || isCount(value)
	case unlessSwitch:
		return isSwitch(value)
	}
	return false
}

const (
	whyName    = "the name says credential"
	whySession = "the name says session, which is a login in use"
	whyCopy    = "holds a packed copy of earlier variables"
)

// namesCredential says why a name means a credential. The name is read as
// words: split at everything but letters and digits and where a small letter
// meets a capital, in small letters, without trailing digits.
func namesCredential(name, value string) string {
	switch name {
	case "DIRENV_DIFF", "__MISE_DIFF", "__MISE_SESSION":
		return whyCopy // direnv and mise keep the variables they replaced here
	case "DESKTOP_SESSION":
		return "" // the kind of desktop
	}
	if strings.HasPrefix(name, "OP_SESSION_") {
		return whySession // 1Password: OP_SESSION_account
	}
	if isSetting(name, value) {
		return ""
	}
	var buf [48]byte // longer words spill to the heap
	word := buf[:0]
	after := uint8(0) // class of the byte before
	public := false   // the word before is "public"
	judge := func() bool { return !(public && string(word) == "key") && isCredentialWord(word, value) }
	for i := range len(name) {
		c := name[i]
		class := classes[c]
		if class&(digit|lower|upper) == 0 || class == upper && after == lower {
			if judge() {
				return whyName
			}
			public = string(word) == "public"
			word = word[:0]
		}
		switch class {
		case upper:
			word = append(word, c+'a'-'A')
		case digit, lower:
			word = append(word, c)
		}
		after = class
	}
	if judge() {
		return whyName
	}
	// BW_SESSION and AOC_SESSION are logins, XDG_SESSION_ID is not.
	if string(word) == "session" && !unlessNumber.excused(value) {
		return whySession
	}
	return ""
}

// isSetting reports a setting about credentials that holds none: a truth value
// under any name, and a number where the name ends in what it counts.
func isSetting(name, value string) bool {
	if strings.EqualFold(value, "true") || strings.EqualFold(value, "false") {
		return true
	}
	if value == "" || len(value) > 9 || !isDigits(value, 1, 9) {
		return false
	}
	last := name[strings.LastIndexByte(name, '_')+1:]
	switch strings.ToLower(last) {
	case "length", "len", "min", "max", "ttl", "limit", "timeout", "expiry", "expires", "expiration", "lifetime", "days", "hours", "minutes", "seconds", "secs", "ms",
		"size", "bits", "count", "rounds", "cost", "iterations", "retries", "attempts", "interval":
		return len(last) < len(name)
	}
	return false
}

// isCredentialWord judges one word in small letters.
func isCredentialWord(word []byte, value string) bool {
	if string(word) == "auth0" { // a company
		return false
	}
	for len(word) > 1 && isDigit(word[len(word)-1]) {
		word = word[:len(word)-1]
	}
	if string(word) == "pw" {
		return !unlessSwitch.excused(value)
	}
	if len(word) < 3 {
		return false
	}
	if s, ok := wholeWord(word); ok {
		return !s.excused(value)
	}
	if len(word) >= len("secret") && hasStem(word) {
		return true
	}
	s, ok := wordEnd(word)
	return ok && !s.excused(value)
}

// wholeWord knows the words that mean a credential when they stand alone.
func wholeWord(word []byte) (strength, bool) {
	switch string(word) {
	case "token", "key", "secret", "password", "passwd", "pwd", "credential", "credentials", "apikey", "pat", "auth":
		return sure, true // the list Pepe uses
	case "passphrase", "passcode", "pswd", "cred", "creds", "cookie", "cookies", "authorization", "bearer",
		"mnemonic", "hmac", "totp", "phpsessid", "jsessionid", "sessid":
		return sure, true
	case "senha", "passwort", "kennwort", "contrasena", "motdepasse": // password in other languages
		return sure, true
	case "tokens", "keys", "jwt", "phrase", "salt":
		return unlessNumber, true
	case "pass", "private", "basicauth", "httpauth", "proxyauth":
		return unlessSwitch, true
	}
	return sure, false
}

// hasStem finds stems that mean a credential wherever they stand in a word:
// DBPASSWORDHASH, MYSECRETS, APIKEYFILE.
func hasStem(word []byte) bool {
	for i := range word {
		rest := word[i:]
		switch rest[0] {
		case 'p':
			if begins(rest, "password") || begins(rest, "passwd") || begins(rest, "passphrase") || begins(rest, "passcode") || begins(rest, "privatekey") {
				return true
			}
		case 's':
			if begins(rest, "secret") && !begins(rest, "secretar") { // secretary
				return true
			}
		case 'c':
			if begins(rest, "credential") {
				return true
			}
		case 'a':
			if begins(rest, "apikey") || begins(rest, "accesskey") || begins(rest, "authorization") {
				return true
			}
		}
	}
	return false
}

// wordEnd knows the ends of run-together words: GITHUBTOKEN, DBPASS, TSAUTHKEY.
func wordEnd(word []byte) (strength, bool) {
	switch word[len(word)-1] { // the ends differ in their last letter
	case 'n':
		return sure, ends(word, "token")
	case 'd':
		return sure, ends(word, "pwd")
	case 'e':
		return sure, ends(word, "cookie")
	case 'y':
		return sure, ends(word, "key") && keyStem(word[:len(word)-len("key")])
	case 's':
		switch {
		case ends(word, "creds"):
			return sure, true
		case ends(word, "tokens"):
			return unlessNumber, true
		case ends(word, "pass"):
			return unlessSwitch, !innocentPass(word)
		}
	}
	return sure, false
}

// innocentPass knows ordinary words that end in "pass".
func innocentPass(word []byte) bool {
	switch string(word) {
	case "compass", "bypass", "overpass", "underpass", "surpass", "trespass", "encompass", "multipass",
		"lowpass", "highpass", "bandpass", "allpass", "onepass", "twopass", "singlepass", "firstpass",
		"renderpass", "subpass", "prepass", "lastpass", "keepass":
		return true
	}
	return false
}

// keyStem knows what stands before "key" when it is one that opens something.
// "key" alone at the end of a word would catch monkey, hotkey and turkey.
func keyStem(stem []byte) bool {
	for _, s := range [...]string{
		"auth", "ssh", "gpg", "pgp", "rsa", "aes", "hmac", "master", "deploy", "signing", "sign",
		"encryption", "encrypt", "session", "storage", "account", "admin", "service", "client", "consumer", "shared", "app",
		"license", "wallet", "webhook", "root", "pass", "priv",
	} {
		if ends(stem, s) {
			return true
		}
	}
	return false
}

// isSwitch reports values that turn something on or off.
func isSwitch(v string) bool {
	if len(v) <= 1 {
		return true // nothing, or too short to protect anything
	}
	for _, s := range [...]string{"true", "false", "yes", "no", "on", "off", "none", "auto", "null", "enabled", "disabled", "required", "optional"} {
		if strings.EqualFold(v, s) {
			return true
		}
	}
	return false
}

// isCount reports numbers such as 4096, 0.5, 32k. Ten digits and more are an
// identifier rather than a count.
func isCount(v string) bool {
	v = strings.TrimRight(v, "kKmM")
	if v == "" || len(v) > 9 {
		return false
	}
	for i := range len(v) {
		if !isDigit(v[i]) && v[i] != '.' && v[i] != '_' && v[i] != ',' {
			return false
		}
	}
	return isDigit(v[0])
}

func begins(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }
func ends(b []byte, s string) bool   { return len(b) >= len(s) && string(b[len(b)-len(s):]) == s }
