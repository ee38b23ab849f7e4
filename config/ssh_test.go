package config

import (
	"strings"
	"testing"
	"time"
)

func TestSSH(t *testing.T) {
	c, err := Parse("/c.json", []byte(`{"sbx": {"ssh": {"host": "ana@build", "workspace": "shared", "dir": "work/app", "options": "-p 22 -J gate",
		"program": "/opt/sbx", "client": "/opt/ssh", "keep": "30m"}}}`))
	want := SSH{Host: "ana@build", Workspace: "shared", Dir: "work/app", Options: "-p 22 -J gate", Program: "/opt/sbx", Client: "/opt/ssh", Keep: 30 * time.Minute}
	if err != nil || c.SSH != want || len(c.Unknown) > 0 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []struct{ text, key string }{
		{`"ssh": "build"`, "sbx.ssh"},
		{`"ssh": {"host": ""}`, "sbx.ssh.host"},
		{`"ssh": {"workspace": "rsync"}`, "sbx.ssh.workspace"},
		{`"ssh": {"keep": "long"}`, "sbx.ssh.keep"},
		{`"ssh": {"forward": false}`, "sbx.ssh.forward"}, // somebody expects it to be read
	} {
		if _, err := Parse("/c.json", []byte(`{"sbx": {`+bad.text+`}}`)); err == nil || !strings.Contains(err.Error(), bad.key+": ") {
			t.Errorf("%s: %v", bad.text, err)
		}
	}
}
