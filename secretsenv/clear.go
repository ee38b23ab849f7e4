package secretsenv

import "strings"

// InClear says why the value of a setting is a credential that stands there in
// clear, where a reference should: "" when it is none. key is the name of the
// setting, e.g. "api_key"; it may be empty. References (${NAME}, exec:…, file:…)
// are never in clear, what stands beside a ${NAME} may be.
func InClear(key, value string) string {
	text := strings.TrimSpace(value)
	if text == "" || IsReference(value) || strings.HasPrefix(text, "$2") && isBcrypt(text) {
		return ""
	}
	between := interpolate(text, func(string) string { return "" })
	if strings.Contains(between, "${") { // a reference of another program
		return ""
	}
	if why := holdsCredential(between); why != "" || between != text {
		return why
	}
	if namesCredential(key, text) != "" && !namesPlace(key, text) {
		return whyName
	}
	if isOpaqueText(text) && !namesDigest(key) {
		return "is a long text of random letters and digits"
	}
	return ""
}

// isBcrypt reports the hash of a password: it is not the password.
func isBcrypt(text string) bool {
	return len(text) == 60 && (strings.HasPrefix(text, "$2a$") || strings.HasPrefix(text, "$2b$") || strings.HasPrefix(text, "$2y$"))
}

// namesPlace reports settings that say where a credential is: key_file, and paths.
func namesPlace(key, text string) bool {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~/") || strings.HasPrefix(text, "./") {
		return true
	}
	low := strings.ToLower(key)
	for _, end := range [...]string{"file", "path", "dir", "env", "_name", "-name", "url", "count", "limit"} {
		if strings.HasSuffix(low, end) {
			return true
		}
	}
	return false
}

// namesDigest reports settings whose values are long and random, and public.
func namesDigest(key string) bool {
	low := strings.ToLower(key)
	for _, word := range [...]string{"hash", "digest", "sha", "checksum", "commit", "revision", "fingerprint", "public", "id"} {
		if strings.Contains(low, word) {
			return true
		}
	}
	return false
}

// opaque is the length from which a text without words is taken for random.
const opaque = 24

// isOpaqueText reports a text that nobody reads: of at least opaque bytes, in one
// piece, neither words nor numbers nor a UUID. claude-3-5-sonnet-20241022 is made
// of words; a path, and the name of a model behind a slash, is no token.
func isOpaqueText(text string) bool {
	if len(text) < opaque {
		return false
	}
	digits := 0
	for i := range len(text) {
		switch c := text[i]; {
		case isDigit(c):
			digits++
		case !isAlnum(c) && c != '_' && c != '-' && c != '+' && c != '=':
			return false
		}
	}
	if digits == 0 || digits == len(text) || isUUID(text) {
		return false
	}
	mixed := 0 // bytes in pieces that are neither a word nor a number
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '_' || r == '-' }) {
		if isMixed(piece) {
			mixed += len(piece)
		}
	}
	return mixed >= 16
}

// isMixed reports letters and digits that change places more than a word with a
// number behind it does (gpt4, v2beta1).
func isMixed(piece string) bool {
	changes := 0
	for i := 1; i < len(piece); i++ {
		if isDigit(piece[i]) != isDigit(piece[i-1]) {
			changes++
		}
	}
	return changes >= 3
}

func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !isHex(c) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// Mask shows enough of a credential to recognise it, and no more: of one of more
// than 8 bytes the first and the last 4, of a shorter one nothing.
func Mask(value string) string {
	text := strings.TrimSpace(value)
	if len(text) <= 8 {
		return strings.Repeat("*", len(text))
	}
	// In bytes, like the tokens it is for: what is cut inside a character would
	// not be shown as it is.
	first, last := strings.ToValidUTF8(text[:4], "*"), strings.ToValidUTF8(text[len(text)-4:], "*")
	return first + strings.Repeat("*", min(len(text)-8, 12)) + last
}
