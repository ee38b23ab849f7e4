package sbx

import (
	"testing"

	"github.com/sbx-run/sbx/sandbox"
)

func TestNoFlagForOwnDirectories(t *testing.T) {
	for _, tt := range []struct {
		d    sandbox.Denial
		kept bool
	}{
		{sandbox.Denial{Operation: sandbox.DeniedWrite, Path: "/home/u/.pepe/config.json"}, false},
		{sandbox.Denial{Operation: sandbox.DeniedCreate, Path: "/home/u/new"}, false}, // the flag names /home/u
		{sandbox.Denial{Operation: sandbox.DeniedWrite, Path: "/home/u/.bashrc"}, true},
		{sandbox.Denial{Operation: sandbox.DeniedDelete, Path: "/home/u/src/f"}, true},
		{sandbox.Denial{Operation: sandbox.DeniedRename, Path: "/ws/f", To: "/home/u/.pepe/f"}, false},
		{sandbox.Denial{Operation: sandbox.DeniedConnect, Host: "example.test"}, true},
	} {
		list := []sandbox.Denial{tt.d}
		list[0].Allow = "--flag"
		withoutOwn(list, []string{"/home/u/.pepe"})
		if (list[0].Allow != "") != tt.kept {
			t.Errorf("%+v", list[0])
		}
	}
}
