package netrules

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxName  = 253 // RFC 1035, without the dot at the end
	maxLabel = 63
	// maxWild bounds what a wildcard may stand for. Names of cloud buckets and
	// previews stay below; data that leaves in the questions to a name server
	// wants room.
	maxWild = 120
)

// canonicalName gives a name in lower case, without the dot at its end. Only
// letters, digits, hyphens and underscores are in it: what else a client sends
// is read differently by different programs.
func canonicalName(name string) (string, error) {
	name = strings.TrimSuffix(name, ".")
	if name == "" {
		return "", errors.New("the host is empty")
	}
	if len(name) > maxName {
		return "", fmt.Errorf("the host has %d characters; a name has at most %d", len(name), maxName)
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" {
			return "", errors.New("the host has an empty part between two dots")
		}
		if len(label) > maxLabel {
			return "", fmt.Errorf("a part of the host has %d characters; at most %d are allowed", len(label), maxLabel)
		}
	}
	b := []byte(name)
	for i, c := range b {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		case 'A' <= c && c <= 'Z':
			b[i] = c + 'a' - 'A'
		case c >= utf8.RuneSelf:
			return "", errors.New("the host has characters beyond ASCII: write it as DNS has it, xn--…")
		default:
			return "", fmt.Errorf("the host has the character %q", rune(c))
		}
	}
	return string(b), nil
}

// toASCII writes the parts of a rule that are beyond ASCII as DNS has them
// (RFC 5891). Only what is in its normal form already is taken: lower case,
// composed. A rule that is read differently than meant would open another host.
func toASCII(name string) (string, error) {
	if isASCII(name) {
		return name, nil
	}
	if !utf8.ValidString(name) {
		return "", errors.New("it is not UTF-8")
	}
	labels := strings.Split(name, ".")
	for i, label := range labels {
		if isASCII(label) {
			continue
		}
		for _, r := range label {
			if r < utf8.RuneSelf && ('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-') {
				continue
			}
			if r < utf8.RuneSelf || unicode.ToLower(r) != r || !unicode.In(r, unicode.Ll, unicode.Lo) || compatible(r) {
				return "", fmt.Errorf("the character %q has no certain form in DNS: write the host as DNS has it, xn--…", r)
			}
		}
		labels[i] = "xn--" + punycode(label)
	}
	return strings.Join(labels, "."), nil
}

// compatible reports whether a letter is another way to write a letter or a
// sequence (Unicode NFKC maps it away).
func compatible(r rune) bool {
	switch {
	case r == 'ª', r == 'º', r == 'ŉ', r == 'ſ', r == 'ĳ', r == 'ŀ': // Latin
	case 0x1c4 <= r && r <= 0x1cc, 0x1f1 <= r && r <= 0x1f3: // digraphs
	case 0x2b0 <= r && r <= 0x36f, 0x3d0 <= r && r <= 0x3d6, 0x3f0 <= r && r <= 0x3f5: // modifiers, symbols
	case 0x958 <= r && r <= 0x95f, 0x9dc <= r && r <= 0x9df, 0xa33 <= r && r <= 0xa36, 0xa59 <= r && r <= 0xa5e, r == 0xb5c, r == 0xb5d:
	case r == 0xe33, r == 0xeb3, 0xedc <= r && r <= 0xedd, 0xf43 <= r && r <= 0xf81: // Thai, Lao, Tibetan
	case 0x1100 <= r && r <= 0x11ff: // parts of Korean letters
	case 0x1d2c <= r && r <= 0x1dbf, 0x1e9a <= r && r <= 0x1e9b, 0x1f71 <= r && r <= 0x1fff, 0x2000 <= r && r <= 0x2bff:
	case 0x3130 <= r && r <= 0x318f, 0xa770 <= r && r <= 0xa770, 0xf900 <= r && r <= 0xfaff: // Korean, Han
	case 0xfb00 <= r && r <= 0xfdff, 0xfe70 <= r && r <= 0xffef, 0x1d400 <= r && r <= 0x1d7ff, 0x1ee00 <= r && r <= 0x1eeff, 0x2f800 <= r && r <= 0x2fa1f:
	default:
		return false
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// punycode is RFC 3492 for one label, with its parameters for host names.
func punycode(label string) string {
	const base, tmin, tmax, skew, damp = 36, 1, 26, 38, 700
	var out []byte
	runes := []rune(label)
	for _, r := range runes {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := rune(128), 0, 72
	for done := basic; done < len(runes); n++ {
		next := rune(unicode.MaxRune)
		for _, r := range runes {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range runes {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			q := delta
			for k := base; ; k += base {
				t := min(max(k-bias, tmin), tmax)
				if q < t {
					break
				}
				out = append(out, digit(t+(q-t)%(base-t)))
				q = (q - t) / (base - t)
			}
			out = append(out, digit(q))
			// Adapt the bias.
			if done == basic {
				delta /= damp
			} else {
				delta /= 2
			}
			delta += delta / (done + 1)
			k := 0
			for ; delta > (base-tmin)*tmax/2; k += base {
				delta /= base - tmin
			}
			bias = k + (base-tmin+1)*delta/(delta+skew)
			delta = 0
			done++
		}
		delta++
	}
	return string(out)
}

func digit(n int) byte {
	if n < 26 {
		return byte('a' + n)
	}
	return byte('0' + n - 26)
}
