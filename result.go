package sbx

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx/guard"
	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/sandbox"
	"github.com/sbx-run/sbx/sandbox/protect"
	"github.com/sbx-run/sbx/shell"
)

// Record is what sbx itself knows about a run, whatever the backend.
type Record struct {
	Schema     int               `json:"schema"` // of docs/result.schema.json
	ID         string            `json:"id"`     // of this run, random
	Started    time.Time         `json:"started"`
	Version    string            `json:"sbx_version"`
	Workspace  string            `json:"workspace,omitempty"`
	Network    string            `json:"network"`
	NetworkWhy string            `json:"network_why,omitempty"` // why, where the command or a file decided
	Limits     *sandbox.Limits   `json:"limits,omitempty"`
	Required   []sandbox.Control `json:"required"`
	Tags       []string          `json:"tags"`     // sorted
	Guard      string            `json:"guard"`    // "block" until the command was read
	Programs   []string          `json:"programs"` // names of what the command calls
	Findings   int               `json:"findings"`
	Violations []violationJSON   `json:"violations,omitempty"`
	Allowed    []guard.Use       `json:"allowed_by_configuration,omitempty"`
	Permission *permit.Passage   `json:"permission,omitempty"` // what Options.Gate decided; nil without one
	Followed   []string          `json:"followed,omitempty"`   // scripts of the workspace that were read too
	Unread     string            `json:"unread,omitempty"`     // why the text was not read as a whole
	Removed    []string          `json:"removed_env"`          // names only
	Unenforced []string          `json:"unenforced,omitempty"` // asked for, and not given
	Error      string            `json:"error,omitempty"`
	AuditError string            `json:"audit_error,omitempty"` // the run is not in the audit file, and why
	plainError string            // Error, without words of the command
	// Hints say what probably stood in the way of the command, and what would let
	// it through.
	Hints []string `json:"hints,omitempty"`
	// NewGaps says that this set of gaps was not seen before in this workspace.
	NewGaps bool `json:"-"`
	// NewTrust says that Trust holds something that was not there before.
	NewTrust bool `json:"-"`
}

// Result is what happened. It prints as one JSON object.
type Result struct {
	sandbox.Result
	Record
	// Changes is what a previewed run would change; nil when it was none, or did
	// not start.
	Changes *Changes `json:"changes,omitempty"`
	// Redacted is the number of places in the output where a credential was taken
	// out; see Options.Redact.
	Redacted int `json:"redacted,omitempty"`
}

// ResultSchema is the number of the schema that a Result follows. It rises when
// a field changes its meaning or goes; new fields come without.
const ResultSchema = 1

// Plan is what a run would do. It prints as one JSON object.
type Plan struct {
	sandbox.Plan
	Record Record `json:"request"`
}

func newResult(o Options) Result {
	required := o.Required
	if required == nil {
		required = sandbox.DefaultRequired()
	}
	backend := o.Backend
	if backend == Auto {
		backend = "" // not chosen yet
	}
	return Result{
		Result: sandbox.Result{Backend: backend, Enforced: []sandbox.Control{}},
		Record: Record{
			Schema: ResultSchema, ID: newID(), Started: time.Now().UTC(), Programs: []string{},
			Version: Version(), Network: o.network(), Limits: o.Limits.Record(), Required: required, Unenforced: o.Unenforced,
			Tags: []string{}, Guard: "block", Removed: []string{},
		},
	}
}

// newID tells runs apart, also those of other hosts. It is no secret.
func newID() string { return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()) }

// NotStarted is the Result of a run that ended with err before an Engine had it.
func NotStarted(o Options, err error) Result {
	j := job{result: newResult(o)}
	return j.finish(err)
}

// read takes over what the reading of the command found.
func (r *Record) read(report Report, workspace string) {
	r.Workspace = workspace
	r.Tags, r.Guard, r.Findings = report.Tags.Names(), report.verdict(), report.findings()
	r.Programs = report.programs()
	r.Unread = report.Unread()
	r.Allowed = report.AllAllowed()
	r.Followed = report.followed(nil)
	r.Violations = wireRefusals(report.Refusals())
}

// job is one request on its way.
type job struct {
	engine    *Engine
	workspace string // resolved
	home      string // of who
	who       *sandbox.Identity
	handed    string // see runtimeScript
	net       network
	private   *private
	session   *sharedSession
	audit     *auditFile
	own       []string // sbx's own directories
	command   sandbox.Command
	script    *shell.Script
	watch     *protect.Watch
	profile   sandbox.Profile
	preview   previewing
	scrubbers *scrubbers
	begun     bool // the backend had the command
	result    Result
}

func (j *job) close() {
	j.audit.close()
	if j.scrubbers != nil {
		j.scrubbers.close()
	}
	if j.session != nil {
		j.engine.sessions.put(j.session)
	}
	if j.private != nil {
		j.private.close()
	}
}

// finish completes the result after a run or an error.
func (j *job) finish(err error) Result {
	r := &j.result
	if r.Backend == "" && j.engine != nil {
		if name := j.engine.backend.Name(); name != Auto {
			r.Backend = name
		}
	}
	if r.Enforced == nil {
		r.Enforced = []sandbox.Control{}
	}
	if err != nil {
		r.Error, r.plainError = oneLine(err.Error()), wordless(err)
		if r.Ending == "" {
			r.Ending, r.ExitCode = endingOf(err)
		}
		var gaps *sandbox.GapError
		if r.Gaps == nil && errors.As(err, &gaps) {
			r.Gaps = gaps.Gaps
		}
		return *r
	}
	if names := openGaps(r.Gaps); len(names) > 0 && j.private != nil {
		r.NewGaps = j.private.firstTime(r.Tier + " " + strings.Join(names, " "))
	}
	return *r
}

// endingOf gives the ending and the exit code of a command that did not run.
func endingOf(err error) (sandbox.Ending, int) {
	var denied *DeniedError
	var unparsed *UnparsedError
	var refused *permit.RefusedError
	var changed *ChangedError
	switch {
	case errors.As(err, &denied), errors.As(err, &unparsed), errors.As(err, &refused), errors.As(err, &changed):
		return sandbox.Refused, 126
	case errors.Is(err, sandbox.ErrLost):
		return sandbox.Lost, 125
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return sandbox.Abandoned, 125
	}
	return sandbox.NotStarted, 125
}

// openGaps names the gaps that nobody accepted, sorted.
func openGaps(gaps []sandbox.Gap) []string {
	var names []string
	for _, g := range gaps {
		if !g.Accepted {
			names = append(names, string(g.Control))
		}
	}
	slices.Sort(names)
	return names
}
