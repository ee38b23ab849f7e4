package secretsenv

// The classes of bytes. Anything above ASCII belongs to none of them, so that
// no spelling hides a word.
const (
	digit = 1 << iota
	lower
	upper
	mark // "_", "-", ".": part of a token, not of a word of a name
)

// classes is filled by the compiler; reading it is what most of the time goes to.
var classes = [256]uint8{
	'0': digit, '1': digit, '2': digit, '3': digit, '4': digit, '5': digit, '6': digit, '7': digit, '8': digit, '9': digit,
	'a': lower, 'b': lower, 'c': lower, 'd': lower, 'e': lower, 'f': lower, 'g': lower, 'h': lower, 'i': lower, 'j': lower,
	'k': lower, 'l': lower, 'm': lower, 'n': lower, 'o': lower, 'p': lower, 'q': lower, 'r': lower, 's': lower, 't': lower,
	'u': lower, 'v': lower, 'w': lower, 'x': lower, 'y': lower, 'z': lower,
	'A': upper, 'B': upper, 'C': upper, 'D': upper, 'E': upper, 'F': upper, 'G': upper, 'H': upper, 'I': upper, 'J': upper,
	'K': upper, 'L': upper, 'M': upper, 'N': upper, 'O': upper, 'P': upper, 'Q': upper, 'R': upper, 'S': upper, 'T': upper,
	'U': upper, 'V': upper, 'W': upper, 'X': upper, 'Y': upper, 'Z': upper,
	'_': mark, '-': mark, '.': mark,
}

func isDigit(c byte) bool { return classes[c] == digit }
func isAlnum(c byte) bool { return classes[c]&(digit|lower|upper) != 0 }

// isWordByte reports the bytes tokens are made of. Slashes are left out so
// that paths fall into their parts.
func isWordByte(c byte) bool { return classes[c] != 0 }
