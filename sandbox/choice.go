package sandbox

import "strings"

// Choice says why a backend runs a command that named none. It prints as JSON.
type Choice struct {
	// Asked is what was asked for: "auto", or an order of names.
	Asked string `json:"asked"`
	Why   string `json:"why"` // one sentence
	// Passed are the backends that would have come first, or that were looked at
	// too, and why they do not run it.
	Passed []Passed `json:"passed_over,omitempty"`
	// Apart: the command sees an image or another machine, because nothing on this
	// host can hold what was asked for, or because the order says so.
	Apart bool `json:"apart,omitempty"`
}

// Passed is a backend that was not chosen.
type Passed struct {
	Backend string `json:"backend"`
	Why     string `json:"why"`
}

// OnlyNamed is a Backend that is used when it is named, and never chosen.
type OnlyNamed interface {
	// OnlyNamed is true.
	OnlyNamed() bool
}

// ChoiceError: no backend that may be chosen can run the command; nothing ran.
type ChoiceError struct {
	Asked  string   // "auto" or an order
	First  error    // of the strongest that works here; nil: none does
	Passed []Passed // the one that First is of comes first
}

func (e *ChoiceError) Error() string {
	others := e.Passed
	if e.First != nil && len(others) > 0 {
		others = others[1:]
	}
	var words []string
	for _, p := range others {
		words = append(words, p.Backend+": "+p.Why)
	}
	switch {
	case e.First == nil && len(words) == 0:
		return "no backend can be chosen: those that there are must be named"
	case e.First == nil:
		return "no backend works here: " + strings.Join(words, "; ")
	case len(words) == 0:
		return e.First.Error()
	}
	return e.First.Error() + " (nor can another: " + strings.Join(words, "; ") + ")"
}

// Unwrap gives what the nearest one lacks, and ErrUnavailable.
func (e *ChoiceError) Unwrap() []error {
	if e.First == nil {
		return []error{ErrUnavailable}
	}
	return []error{e.First}
}

// PassedFor says of a backend why it was passed over, without its name and the
// kind of the error, which are said already.
func PassedFor(backend string, err error) Passed {
	why := err.Error()
	for _, kind := range [...]error{ErrUnavailable, ErrUnsupported} {
		why = strings.TrimSuffix(why, ": "+kind.Error())
	}
	return Passed{Backend: backend, Why: strings.TrimPrefix(strings.TrimPrefix(why, "backend "), backend+": ")}
}
