package sandbox

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Portable says whether a profile comes out of JSON as it went in. A path that
// is not UTF-8 does not, and another one would be shared in its place.
func (p Profile) Portable() error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var back Profile
	if err := json.Unmarshal(data, &back); err != nil {
		return err
	}
	if p.Egress != nil { // its Upstream stays here on purpose
		way := *p.Egress
		way.Upstream = Upstream{}
		p.Egress = &way
	}
	if !reflect.DeepEqual(p, back) {
		return fmt.Errorf("a path of the profile is not UTF-8 (workspace %q)", p.Workspace)
	}
	return nil
}
