package sbx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sbx-run/sbx/permit"
	"github.com/sbx-run/sbx/sandbox"
)

// The audit file has one Result in each line. Its lines hold names of programs
// and variables, rules and paths, and never the words of a command: an argument
// may be a password, and no list of forms finds all of them. Who needs the words
// joins Result.ID with what the caller logs.
//
// It is opened before the run and kept, so that the command cannot exchange it,
// and a file that cannot be written refuses the run: nothing runs unrecorded.
// When only the write after the run fails, the run has happened; Result then
// says so in AuditError.

// AuditError: the audit file cannot be used; nothing ran.
type AuditError struct {
	Path string
	Why  string
}

func (e *AuditError) Error() string {
	return fmt.Sprintf("audit file %q: %s; no command runs unrecorded: correct it, or take the audit file (sbx.audit, Options.Audit) away", e.Path, e.Why)
}

// auditWait is how long a writer waits for the others. Each holds the lock for
// one write only.
const auditWait = 2 * time.Second

// auditFile is the open file; nil where none was asked for.
type auditFile struct{ file *os.File }

// Audit appends r to an audit file, as an Engine does by itself. It is for runs
// that ended before there was an Engine: see NotStarted.
func Audit(path string, r Result) error {
	a, err := openAudit(path)
	if err != nil || a == nil {
		return err
	}
	defer a.close()
	return a.append(r)
}

// openAudit opens or makes the file. Its directory has to be there: a mistyped
// path would otherwise be an audit file that nobody looks at.
func openAudit(path string) (*auditFile, error) {
	if path == "" {
		return nil, nil
	}
	no := func(why string) (*auditFile, error) { return nil, &AuditError{Path: path, Why: why} }
	if !filepath.IsAbs(path) {
		return no("it is not an absolute path")
	}
	for _, dir := range [...]string{"/dev", "/proc", "/sys"} {
		if within(realPath(path), dir) {
			return no("it lies in " + dir)
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|noFollow|noWait, 0o600)
	if err != nil {
		return no(auditCause(path, err))
	}
	if why := unfitAudit(f); why != "" {
		f.Close()
		return no(why)
	}
	return &auditFile{f}, nil
}

// unfitAudit says why an open file is not one that only the caller writes.
func unfitAudit(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	id := identify(info)
	switch {
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case id.uid != callerUID():
		return fmt.Sprintf("it belongs to uid %d, not to uid %d", id.uid, callerUID())
	case ownerModes && info.Mode().Perm()&0o077 != 0:
		return fmt.Sprintf("others may use it (mode %04o); chmod 600", info.Mode().Perm())
	case id.links > 1:
		return "it has a second name (hard link), by which a command may reach it"
	}
	return ""
}

func auditCause(path string, err error) string {
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "it is a symbolic link"
	}
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err
	}
	return err.Error()
}

func (a *auditFile) close() {
	if a != nil {
		a.file.Close()
	}
}

// append writes one line. The lock keeps long lines whole on every file system,
// and makes it certain that a line cut off by a full disk is taken back.
func (a *auditFile) append(r Result) error {
	if a == nil {
		return nil
	}
	line, err := marshal(r.withoutWords())
	if err != nil {
		return fmt.Errorf("audit file %q: %w", a.file.Name(), err)
	}
	for end := time.Now().Add(auditWait); !lockWriting(a.file); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("audit file %q: another program has held its lock for %v; this run is not recorded", a.file.Name(), auditWait)
		}
	}
	defer unlock(a.file)
	info, err := a.file.Stat()
	if err != nil {
		return fmt.Errorf("audit file: %w; this run is not recorded", err)
	}
	line = append(line, '\n')
	if size := info.Size(); size > 0 { // what was cut off by a crash must not swallow this line
		last := []byte{0}
		if _, err := a.file.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := a.file.Write(line); err != nil {
		_ = a.file.Truncate(info.Size())
		return fmt.Errorf("audit file: %w; this run is not recorded", err)
	}
	return nil
}

// withoutWords leaves out what is, or repeats, words of the command.
func (r Result) withoutWords() Result {
	if r.Changes != nil {
		r.Changes = r.Changes.Brief()
	}
	r.Violations = slices.Clone(r.Violations)
	for i := range r.Violations {
		r.Violations[i].Words, r.Violations[i].Explain = "", nil
	}
	r.Allowed = slices.Clone(r.Allowed)
	for i := range r.Allowed {
		r.Allowed[i].Object = ""
	}
	if r.Unread != "" {
		r.Unread = "the text could not be read as a whole"
	}
	if r.Error != "" {
		r.Error = r.plainError
	}
	r.Hints = nil // advice about the command, in its words
	return r
}

// wordless is the text of an error when it cannot hold words of the command,
// else its kind.
func wordless(err error) string {
	var (
		denied    *DeniedError
		unparsed  *UnparsedError
		workspace *WorkspaceError
		path      *PathError
		request   *RequestError
		gaps      *sandbox.GapError
		refused   *permit.RefusedError
		changed   *ChangedError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		return refused.Plain()
	case errors.As(err, &denied):
		var rules []string
		for _, r := range denied.Refusals {
			if !slices.Contains(rules, r.Rule) {
				rules = append(rules, r.Rule)
			}
		}
		return "refused by guard: " + strings.Join(rules, ", ")
	case errors.As(err, &unparsed):
		return "refused: the text could not be read as a whole"
	case errors.As(err, &workspace), errors.As(err, &path), errors.As(err, &request), errors.As(err, &gaps), errors.As(err, &changed),
		errors.Is(err, sandbox.ErrUnavailable), errors.Is(err, sandbox.ErrUnsupported):
		return oneLine(err.Error())
	case errors.Is(err, sandbox.ErrLost):
		return sandbox.ErrLost.Error()
	}
	return sandbox.ErrStart.Error()
}

// programs names what the command calls, each once, in the order of the text. A
// word that does not look like the name of a program is left out: it may be
// anything.
func (r Report) programs() []string {
	const most = 64
	names := []string{}
	if r.Script == nil {
		return names
	}
	for i := range r.Script.Calls {
		name := r.Script.Calls[i].Name()
		if len(names) < most && programName(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func programName(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("+-._", c) >= 0:
		default:
			return s == "["
		}
	}
	return s != "" && len(s) <= 32
}
