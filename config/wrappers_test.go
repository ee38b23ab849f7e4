package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestWrappers(t *testing.T) {
	c, err := Parse("/c.json", []byte(`{"sbx": {"wrappers": {"/a.sh": {"claims": ["writes-confined"], "apart": true, "user": true}, "/b.sh": {}}}}`))
	want := []Wrapper{{"/a.sh", []string{"writes-confined"}, true, true}, {Path: "/b.sh"}}
	if err != nil || !reflect.DeepEqual(c.Wrappers, want) || len(c.Unknown) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []struct{ text, key string }{
		{`[]`, "sbx.wrappers"},
		{`{"a.sh": {}}`, "sbx.wrappers.a.sh"},
		{`{"/a.sh": []}`, "sbx.wrappers./a.sh"},
		{`{"/a.sh": {"claims": "all"}}`, "sbx.wrappers./a.sh.claims"},
		{`{"/a.sh": {"apart": "yes"}}`, "sbx.wrappers./a.sh.apart"},
		{`{"/a.sh": {"user": 1}}`, "sbx.wrappers./a.sh.user"},
		{`{"/a.sh": {"claim": []}}`, "sbx.wrappers./a.sh.claim"}, // somebody expects it to be read
		{`{"/a.sh": {}, "/a.sh": {}}`, "sbx.wrappers./a.sh"},
		{`{"/a.sh": {"claims": [], "claims": []}}`, "sbx.wrappers./a.sh.claims"},
	} {
		if _, err := Parse("/c.json", []byte(`{"sbx": {"wrappers": `+bad.text+`}}`)); err == nil || !strings.Contains(err.Error(), bad.key+": ") {
			t.Errorf("%s: %v", bad.text, err)
		}
	}
}
