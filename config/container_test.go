package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestContainer(t *testing.T) {
	c, err := Parse("/c.json", []byte(`{"sbx": {"container": {"image": "debian:12", "cpus": 1.5, "runtime": "crun", "host": "tcp://127.0.0.1:1",
		"local": true, "options": "--dns 10.0.0.1", "pull": "never"}, "helpers": {"mine": "/opt/sbx-backend-mine"}}}`))
	want := Container{Image: "debian:12", CPUs: 1.5, Runtime: "crun", Host: "tcp://127.0.0.1:1", Local: true, Options: "--dns 10.0.0.1", NoPull: true}
	if err != nil || c.Container != want || !reflect.DeepEqual(c.Helpers, []Helper{{"mine", "/opt/sbx-backend-mine"}}) || len(c.Unknown) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []struct{ text, key string }{
		{`"container": []`, "sbx.container"},
		{`"container": {"image": ""}`, "sbx.container.image"},
		{`"container": {"cpus": 0}`, "sbx.container.cpus"},
		{`"container": {"cpus": -1}`, "sbx.container.cpus"},
		{`"container": {"cpus": "many"}`, "sbx.container.cpus"},
		{`"container": {"local": "yes"}`, "sbx.container.local"},
		{`"container": {"pull": "always"}`, "sbx.container.pull"},
		{`"container": {"options": 1}`, "sbx.container.options"},
		{`"container": {"privileged": false}`, "sbx.container.privileged"}, // somebody expects it to be read
		{`"helpers": {"mine": "sbx-backend-mine"}`, "sbx.helpers.mine"},
		{`"helpers": {"mine": 1}`, "sbx.helpers.mine"},
		{`"helpers": {"a": "/a", "a": "/b"}`, "sbx.helpers.a"},
		{`"helpers": "/a"`, "sbx.helpers"},
	} {
		if _, err := Parse("/c.json", []byte(`{"sbx": {`+bad.text+`}}`)); err == nil || !strings.Contains(err.Error(), bad.key+": ") {
			t.Errorf("%s: %v", bad.text, err)
		}
	}
	for _, bad := range []string{"", "0", "-1", "NaN", "Inf", "1x", "99999999"} {
		if n, err := Processors(bad); err == nil {
			t.Errorf("%q: %g", bad, n)
		}
	}
}
