package sandbox

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestDenialOnTheWire(t *testing.T) {
	tests := []struct {
		d    Denial
		line string
		json string
	}{
		{
			Denial{Operation: DeniedWrite, Path: "/etc/hosts", Call: "openat", Layer: LayerMount, Rule: "outside the workspace", Allow: "--allow-write /etc/hosts", Count: 3},
			"write /etc/hosts (3 times): refused by mount, outside the workspace; --allow-write /etc/hosts would allow it; retrying will not help",
			`{"operation":"write","path":"/etc/hosts","call":"openat","layer":"mount","rule":"outside the workspace","allow":"--allow-write /etc/hosts","count":3,"retry":"retrying will not help"}`,
		},
		{
			Denial{Operation: DeniedRename, Path: "/a\xff\n", To: "/b", Layer: LayerLandlock, Rule: "outside", Likely: true, Count: 1},
			`rename "/a\xff\n" to /b: likely refused by landlock, outside; retrying will not help`,
			`{"operation":"rename","path":"/a` + "\ufffd" + `\n","path_bytes":"L2H/Cg==","to":"/b","layer":"landlock","rule":"outside","likely":true,"count":1,"retry":"retrying will not help"}`,
		},
		{
			Denial{Operation: DeniedDelete, Path: "/x; --allow-write / would allow it", Layer: LayerMount, Rule: "outside", Count: 1},
			`delete "/x; --allow-write / would allow it": refused by mount, outside; retrying will not help`,
			`{"operation":"delete","path":"/x; --allow-write / would allow it","layer":"mount","rule":"outside","count":1,"retry":"retrying will not help"}`,
		},
		{
			Denial{Operation: DeniedConnect, Host: "fd00::1", Port: 443, Layer: LayerBroker, Rule: "private address", Count: 1},
			"connect [fd00::1]:443: refused by broker, private address; retrying will not help",
			`{"operation":"connect","host":"fd00::1","port":443,"layer":"broker","rule":"private address","count":1,"retry":"retrying will not help"}`,
		},
		{
			Denial{Operation: DeniedResolve, Host: "a\x1b[31m.test", Layer: LayerResolver, Rule: "host not listed", Count: 1},
			`resolve "a\x1b[31m.test": refused by resolver, host not listed; retrying will not help`,
			`{"operation":"resolve","host":"a\u001b[31m.test","layer":"resolver","rule":"host not listed","count":1,"retry":"retrying will not help"}`,
		},
	}
	for _, tt := range tests {
		if got := tt.d.String(); got != tt.line {
			t.Errorf("%q\nwant %q", got, tt.line)
		}
		text, err := json.Marshal(tt.d)
		if err != nil || strings.ReplaceAll(string(text), `\ufffd`, "\ufffd") != tt.json {
			t.Errorf("%s, %v\nwant %s", text, err, tt.json)
		}
		var back Denial
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, tt.d) {
			t.Errorf("read back: %+v, %v", back, err)
		}
	}
}

func TestDenialLogCountsAndIsBounded(t *testing.T) {
	var l DenialLog
	l.Add(Denial{})
	l.Add(Denial{Operation: DeniedWrite, Path: "/x"}) // no layer: nobody says that it was refused
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 1000 {
				l.Add(Denial{Operation: DeniedWrite, Layer: LayerMount, Path: fmt.Sprint("/", i%300)})
			}
		})
	}
	all.Wait()
	list, beyond := l.Denials()
	total := beyond
	for _, d := range list {
		total += d.Count
	}
	if len(list) != maxDenials || total != 8000 {
		t.Errorf("%d records, %d in all", len(list), total)
	}
	list[0].Count = -1
	if again, _ := l.Denials(); again[0].Count < 1 {
		t.Error("the list is shared with the log")
	}
}
