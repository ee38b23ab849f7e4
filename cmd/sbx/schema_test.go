package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sbx-run/sbx"
	"github.com/sbx-run/sbx/changes"
	"github.com/sbx-run/sbx/sandbox"
)

// docsVar is the directory with the published schemas.
const docsVar = "SBX_TEST_DOCS"

// schema compiles docs/NAME.schema.json.
func schema(name string) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	for _, n := range []string{"result", "plan"} {
		text, err := os.ReadFile(filepath.Join(os.Getenv(docsVar), n+".schema.json"))
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource("https://sbx-run.github.io/sbx/"+n+".schema.json", doc); err != nil {
			return nil, err
		}
	}
	return c.Compile("https://sbx-run.github.io/sbx/" + name + ".schema.json")
}

func validate(name string, text []byte) error {
	s, err := schema(name)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

// scriptSchema is "schema result|plan FILE": each line of FILE is a JSON text of
// that kind, and there is one at least.
func scriptSchema(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] schema result|plan FILE")
	}
	lines := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[1])))
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		if err := validate(args[0], lines.Bytes()); (err != nil) != neg {
			ts.Fatalf("%s, line %d: %v\n%s", args[1], n+1, err, lines.Bytes())
		}
	}
	if n == 0 {
		ts.Fatalf("%s is empty", args[1])
	}
}

// A field that the schema does not know, or that is no more, fails here, also
// when no run of the tests sets it.
func TestSchemasNameEveryField(t *testing.T) {
	var result sbx.Result
	fill(reflect.ValueOf(&result).Elem())
	result.Limit = sandbox.OverTemp // some words of an Ending only
	var plan sbx.Plan
	fill(reflect.ValueOf(&plan).Elem())
	for name, v := range map[string]any{"result": result, "plan": plan} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(name, text); err != nil {
			t.Errorf("docs/%s.schema.json does not describe the Go type: %v", name, err)
		}
		s, err := schema(name)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			t.Fatal(err)
		}
		compareFields(t, name, s, value)
		// The control: the schema is closed.
		if err := validate(name, append([]byte(`{"new_field":1,`), text[1:]...)); err == nil {
			t.Errorf("docs/%s.schema.json takes a field that it does not name", name)
		}
	}
}

// compareFields says what stands in the schema and not in a value whose fields
// are all set.
func compareFields(t *testing.T, at string, s *jsonschema.Schema, value any) {
	t.Helper()
	for s.Ref != nil {
		s = s.Ref
	}
	switch v := value.(type) {
	case map[string]any:
		for name, of := range s.Properties {
			if field, ok := v[name]; ok {
				compareFields(t, at+"."+name, of, field)
			} else if !conditional(at, name) {
				t.Errorf("%s.%s stands in the schema, and no field of the Go type is called so", at, name)
			}
		}
		if closed, ok := s.AdditionalProperties.(bool); !ok || closed {
			t.Errorf("%s takes further fields", at)
		}
	case []any:
		if items, ok := s.Items2020, len(v) > 0; ok && items != nil {
			compareFields(t, at+"[]", items, v[0])
		}
	}
}

// conditional fields are written for some values only.
func conditional(at, name string) bool {
	if at == "result.changes" && name == "entries_beyond" {
		return true
	}
	return (strings.HasSuffix(at, "denials[]") || strings.HasSuffix(at, "trust.findings[]")) && slices.Contains([]string{"path_bytes", "to_bytes"}, name)
}

// fill sets every field to something that is not empty.
func fill(v reflect.Value) {
	if sample, ok := samples()[v.Type()]; ok {
		v.Set(reflect.ValueOf(sample))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch {
			case !f.IsExported() && !f.Anonymous, f.Tag.Get("json") == "-":
			case f.Name == "ID":
				v.Field(i).SetString(strings.Repeat("0", 32))
			default:
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	default:
		panic("fill " + v.Type().String())
	}
}

func samples() map[reflect.Type]any {
	return map[reflect.Type]any{
		reflect.TypeFor[time.Time]():      time.Unix(1, 0).UTC(),
		reflect.TypeFor[sandbox.Ending](): sandbox.Exited,
		reflect.TypeFor[changes.State]():  changes.Pending,
		reflect.TypeFor[changes.Kind]():   changes.Created,
	}
}

// A line of the audit file holds no words of the command. A new field is in none
// until somebody has thought about it, and written it down here.
func TestAuditLineIsReviewed(t *testing.T) {
	var result sbx.Result
	fill(reflect.ValueOf(&result).Elem())
	result.Limit = sandbox.OverTemp
	path := filepath.Join(t.TempDir(), "audit")
	if err := sbx.Audit(path, result); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate("result", text); err != nil {
		t.Error(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	texts := map[string]bool{}
	gatherTexts("", value, texts)
	for _, known := range auditTexts {
		delete(texts, known)
	}
	for at := range texts {
		t.Errorf("%s stands in the audit file: can it hold words of a command, values or output? If not, it belongs in auditTexts, else Result.withoutWords has to take it out", at)
	}
}

// auditTexts are the fields of an audit line with a text that is not of sbx's own
// choice, and why they may stand there.
var auditTexts = []string{
	"backend", "tier", "backend_version", "sbx_version", "network", "network_why", "guard", "audit_error", // of sbx or of its caller
	"enforced", "required", "gaps.control", "gaps.why", "gaps.fix", "unenforced", // of the backend
	"choice.asked", "choice.why", "choice.passed_over.backend", "choice.passed_over.why", // names of backends, and why they will not do
	"workspace", "followed", "violations.path", "identity.name", "identity.home", "identity.why", // where it ran and as whom
	"tags", "violations.rule", "violations.reason", "violations.instead", // of the tables
	"programs", "removed_env", // names
	// What it did, as far as it was watched: files and hosts are what an audit is for.
	"denials.operation", "denials.path", "denials.to", "denials.host", "denials.call", "denials.layer", "denials.rule", "denials.allow",
	"hosts.host", "network_error", "changes.roots",
	"trust.findings.path", "trust.findings.to", "trust.findings.kind", "trust.findings.change", "trust.findings.why", "trust.scan_incomplete",
	"permission.verdict", "permission.why", "permission.decision", "permission.granted", "permission.approval", "permission.agent", // words of permit, and names
	"permission.by", "permission.unsaved", // who answered, and what is wrong with the store of grants
	"allowed_by_configuration.rule", "allowed_by_configuration.path", "allowed_by_configuration.argv", "allowed_by_configuration.reason", // of the owner
}

// gatherTexts lists where a value holds the text of fill.
func gatherTexts(at string, value any, found map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			gatherTexts(strings.TrimPrefix(at+"."+name, "."), field, found)
		}
	case []any:
		for _, item := range v {
			gatherTexts(at, item, found)
		}
	case string:
		if v == "x" {
			found[at] = true
		}
	}
}
