package container

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/google/shlex"
)

// Option is one option of an engine's run command that a backend passes on: it
// confines, or changes what only the command itself sees.
type Option struct {
	Name string
	Set  func(value string) error
	Why  string
}

// widening are options that give what a sandbox takes away, with what to use
// instead.
var widening = [...]struct{ name, instead string }{
	{"privileged", "it gives the command the whole machine"},
	{"cap-add", "a command runs without capabilities"},
	{"security-opt", "it switches the confinement off"},
	{"device", "a device is a door to hardware"},
	{"pid", "the processes of others stay outside"},
	{"ipc", "the memory of others stays outside"},
	{"uts", "the host's name stays outside"},
	{"userns", "sbx chooses it"},
	{"cgroupns", "sbx chooses it"},
	{"volume", "grant paths by --allow-write and --allow-read"},
	{"v", "grant paths by --allow-write and --allow-read"},
	{"mount", "grant paths by --allow-write and --allow-read"},
	{"volumes-from", "grant paths by --allow-write and --allow-read"},
	{"group-add", "the command has the caller's groups"},
	{"user", "the command runs as the caller"},
	{"u", "the command runs as the caller"},
	{"env", "let variables through by --env"},
	{"e", "let variables through by --env"},
	{"env-file", "let variables through by --env"},
	{"publish", "nothing outside is to reach the command"},
	{"p", "nothing outside is to reach the command"},
	{"oom-score-adj", "the host would end other processes first"},
	{"sysctl", "settings of the kernel stay as they are"},
}

// ApplyOptions hands the words of a profile's further engine options to those
// that a backend passes on.
func ApplyOptions(line string, known []Option) error {
	words, err := shlex.Split(line)
	if err != nil {
		return fmt.Errorf("engine options %q: %w", line, err)
	}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
		if !strings.HasPrefix(word, "-") {
			return fmt.Errorf("engine option %q: an option begins with --", word)
		}
		for _, w := range widening {
			if w.name == name {
				return fmt.Errorf("engine option %q is refused: %s", word, w.instead)
			}
		}
		set := lookupOption(known, name)
		if set == nil {
			return fmt.Errorf("engine option %q is none that sbx passes on (%s)", word, optionNames(known))
		}
		if !given {
			if len(words) == 0 {
				return fmt.Errorf("engine option %q needs a value", word)
			}
			value, words = words[0], words[1:]
		}
		if err := set(value); err != nil {
			return fmt.Errorf("engine option %q %q: %w", word, value, err)
		}
	}
	return nil
}

func lookupOption(known []Option, name string) func(string) error {
	for _, o := range known {
		if o.Name == name {
			return o.Set
		}
	}
	return nil
}

func optionNames(known []Option) string {
	var names []string
	for _, o := range known {
		names = append(names, "--"+o.Name)
	}
	return strings.Join(names, ", ")
}

// ParseUlimit reads NAME=SOFT:HARD, or NAME=BOTH.
func ParseUlimit(v string) (name string, soft, hard int64, err error) {
	name, rest, ok := strings.Cut(v, "=")
	first, second, both := strings.Cut(rest, ":")
	if !both {
		second = first
	}
	soft, err1 := strconv.ParseInt(first, 10, 64)
	hard, err2 := strconv.ParseInt(second, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return "", 0, 0, errors.New("it is NAME=SOFT:HARD")
	}
	return name, soft, hard, nil
}

// ParseAddress reads an IP address.
func ParseAddress(v string) (netip.Addr, error) {
	at, err := netip.ParseAddr(v)
	if err != nil {
		return at, errors.New("it is no address: write 10.0.0.1")
	}
	return at, nil
}

// ParseBytes reads 512m, 1g, 1048576. The letters are powers of 1024, as the
// engines count.
func ParseBytes(v string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(v))
	text = strings.TrimSuffix(strings.TrimSuffix(text, "b"), "i")
	shift := 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("kmgt", text[n-1]); i >= 0 {
			shift, text = 10*(i+1), text[:n-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("it is not a size: write 512m or 2g")
	}
	return n << shift, nil
}
