package sbx

import (
	"bytes"
	"encoding/json"

	"github.com/sbx-run/sbx/classify"
	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/shell"
)

// Report is what the reading of a command found. It does not change after it
// is returned, and prints as JSON.
type Report struct {
	Script     *shell.Script
	Tags       classify.Tags
	Findings   []classify.Finding
	Violations []guard.Violation
	Allowed    []guard.Use // violations that the owner's configuration lifted
	Followed   []Followed  // scripts that were read too, see Follow

	// Explain adds an Explanation to each finding and violation of the JSON form.
	Explain bool

	allow []guard.Allow
}

// reportOn judges a script.
func reportOn(s *shell.Script, allow []guard.Allow) Report {
	r := Report{Script: s, allow: allow}
	r.Tags, r.Findings = classify.Classify(s)
	r.Violations, r.Allowed = guard.CheckAllowing(s, allow)
	return r
}

// Blocked reports whether guard refuses the command, or a script that was
// followed.
func (r Report) Blocked() bool {
	for _, f := range r.Followed {
		if f.Report.Blocked() {
			return true
		}
	}
	return len(r.Violations) > 0
}

// Refusal is one violation with its place: in the command, or in a script that
// it runs.
type Refusal struct {
	guard.Violation
	Path string // of the script; "" for the command itself
	At   shell.Pos
	End  shell.Pos
}

// Refusals lists the violations of the command and of the scripts that were
// followed.
func (r Report) Refusals() []Refusal { return r.refusals("", nil) }

func (r Report) refusals(path string, out []Refusal) []Refusal {
	for _, v := range r.Violations {
		out = append(out, Refusal{Violation: v, Path: path, At: r.Script.Pos(v.Span.Start), End: r.Script.Pos(v.Span.End)})
	}
	for _, f := range r.Followed {
		out = f.Report.refusals(f.Path, out)
	}
	return out
}

// Unread says why the command could not be read as a whole; "" when it was.
func (r Report) Unread() string {
	s := r.Script
	switch {
	case s == nil:
		return "nothing was read"
	case s.Err != nil:
		return oneLine(s.Err.Error())
	case len(s.Unknown) > 0:
		return oneLine(s.Unknown[0].Why)
	}
	return ""
}

// verdict is the word on the wire.
func (r Report) verdict() string {
	if r.Blocked() {
		return "block"
	}
	return "allow"
}

// The wire form. Positions are given once, as a start and an end.
type (
	reportJSON struct {
		Text       string          `json:"text"`
		Tags       []string        `json:"tags"`
		Guard      string          `json:"guard"` // "allow" or "block"
		Findings   []findingJSON   `json:"findings"`
		Violations []violationJSON `json:"violations"`
		Unknown    []unknownJSON   `json:"unknown"`
		Error      string          `json:"error,omitempty"` // first syntax error
		Allowed    []guard.Use     `json:"allowed_by_configuration,omitempty"`
		Followed   []followedJSON  `json:"followed,omitempty"`
	}
	followedJSON struct {
		Path    string `json:"path"`
		Call    int    `json:"call"`
		Skipped string `json:"skipped,omitempty"` // why it was not read
		*reportJSON
	}
	findingJSON struct {
		Tag   string    `json:"tag"`
		Rule  string    `json:"rule"`
		At    shell.Pos `json:"at"`
		End   shell.Pos `json:"end"`
		Words string    `json:"words"`
		Why   string    `json:"why"`

		Explain *Explanation `json:"explain,omitempty"`
	}
	violationJSON struct {
		Rule    string    `json:"rule"`
		Path    string    `json:"path,omitempty"` // of the script that it stands in
		At      shell.Pos `json:"at"`
		End     shell.Pos `json:"end"`
		Words   string    `json:"words"`
		Reason  string    `json:"reason"`
		Instead string    `json:"instead"`

		Explain *Explanation `json:"explain,omitempty"`
	}
	unknownJSON struct {
		At  shell.Pos `json:"at"`
		End shell.Pos `json:"end"`
		Why string    `json:"why"`
	}
)

// MarshalJSON gives tags (sorted), guard's verdict, findings and violations
// with their places, what could not be read, and the scripts that were followed.
func (r Report) MarshalJSON() ([]byte, error) { return marshal(r.wire()) }

func (r Report) wire() *reportJSON {
	out := &reportJSON{
		Tags: r.Tags.Names(), Guard: r.verdict(),
		Findings: []findingJSON{}, Violations: []violationJSON{}, Unknown: []unknownJSON{},
		Allowed: r.Allowed,
	}
	s := r.Script
	if s == nil {
		return out
	}
	out.Text = s.Text
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	for _, f := range r.Findings {
		wire := findingJSON{
			Tag: f.Tag.String(), Rule: f.Rule, At: s.Pos(f.Span.Start), End: s.Pos(f.Span.End), Words: f.Words, Why: f.Why,
		}
		if r.Explain {
			e := r.ExplainFinding(f)
			wire.Explain = &e
		}
		out.Findings = append(out.Findings, wire)
	}
	for _, v := range r.Violations {
		wire := Refusal{Violation: v, At: s.Pos(v.Span.Start), End: s.Pos(v.Span.End)}.wire()
		if r.Explain {
			e := r.ExplainViolation(v)
			wire.Explain = &e
		}
		out.Violations = append(out.Violations, wire)
	}
	for _, u := range s.Unknown {
		out.Unknown = append(out.Unknown, unknownJSON{At: s.Pos(u.Span.Start), End: s.Pos(u.Span.End), Why: u.Why})
	}
	for _, f := range r.Followed {
		wire := followedJSON{Path: f.Path, Call: f.Call, Skipped: f.Skipped}
		if f.Skipped == "" {
			f.Report.Explain = r.Explain
			wire.reportJSON = f.Report.wire()
		}
		out.Followed = append(out.Followed, wire)
	}
	return out
}

func (r Refusal) wire() violationJSON {
	return violationJSON{
		Rule: r.Rule, Path: r.Path, At: r.At, End: r.End, Words: r.Words, Reason: r.Reason, Instead: r.Instead,
	}
}

func wireRefusals(list []Refusal) []violationJSON {
	out := make([]violationJSON, 0, len(list))
	for _, r := range list {
		out = append(out, r.wire())
	}
	return out
}

// marshal leaves <, > and & as they are: commands are full of them.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}
