package secretsenv

// IsToken says whether a word has the shape of a token of a known service, or of
// a JWT. A word is made of letters, digits, "_", "-" and ".".
func IsToken(word string) bool { return len(word) >= shortest && isToken(word, false) != "" }

// IsSecretSetting says whether a setting of this name holds a credential:
// password, client_secret, ApiKey. token_count does not.
func IsSecretSetting(name string) bool { return isSecretSetting(name) }
