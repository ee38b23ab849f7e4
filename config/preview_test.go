package config

import (
	"strings"
	"testing"
	"time"
)

func TestPreview(t *testing.T) {
	c, err := Parse("/c.json", []byte(`{"sbx": {"preview": {"size": "512m", "keep": "48h"}}}`))
	if err != nil || c.PreviewSize != 512<<20 || c.PreviewKeep != 48*time.Hour || len(c.Unknown) > 0 {
		t.Errorf("%+v %v", c, err)
	}
	if c, err = Parse("/c.json", []byte(`{"sbx": {"preview": {"size": null}}}`)); err != nil || c.PreviewSize != 0 || c.PreviewKeep != 0 {
		t.Errorf("%+v %v", c, err)
	}
	for text, want := range map[string]string{
		`[]`:                        "sbx.preview: want an object",
		`{"size": "much"}`:          `sbx.preview.size: want a size like "500m", at least 1m, have "much"`,
		`{"size": "12"}`:            "sbx.preview.size: want a size",
		`{"size": 5}`:               "sbx.preview.size: want a word",
		`{"keep": "soon"}`:          "sbx.preview.keep: want a duration",
		`{"keep": "0s"}`:            "sbx.preview.keep: want a duration",
		`{"keep": "-1h"}`:           "sbx.preview.keep: want a duration",
		`{"sise": "1g"}`:            "sbx.preview.sise",
		`{"keep":"1h","keep":"2h"}`: "stands twice",
	} {
		if _, err := Parse("/c.json", []byte(`{"sbx": {"preview": `+text+`}}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
