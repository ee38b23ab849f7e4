package helper

// Names says whether a word can be the name of a helper's backend.
func Names(word string) bool {
	if word == "" || len(word) > 64 || word[0] == '-' {
		return false
	}
	for _, c := range word {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
