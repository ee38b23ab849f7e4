package config

import "time"

// SSH is sbx.ssh: the machine of the backend ssh. A zero is what the file does
// not say.
type SSH struct {
	Host      string        `json:"host,omitempty"`      // as for ssh
	Workspace string        `json:"workspace,omitempty"` // "sync" or "shared"
	Dir       string        `json:"dir,omitempty"`       // below the home there
	Options   string        `json:"options,omitempty"`   // of ssh, as a shell would read them
	Program   string        `json:"program,omitempty"`   // sbx there
	Client    string        `json:"client,omitempty"`    // ssh here
	Keep      time.Duration `json:"keep_ns,omitempty"`   // of a connection without a command
}

func (d *decoder) ssh(at string, value any) SSH {
	var s SSH
	o, ok := d.object(at, value)
	if !ok {
		return s
	}
	unknown := d.each(at+".", o, []string{"host", "workspace", "dir", "options", "program", "client", "keep"}, func(key string, value any) bool {
		full := at + "." + key
		switch key {
		case "host":
			s.Host = d.word(full, value)
		case "workspace":
			if s.Workspace = d.word(full, value); s.Workspace != "" && s.Workspace != "sync" && s.Workspace != "shared" {
				d.fail(full, `want "sync" or "shared", have %s`, describe(value))
			}
		case "dir":
			s.Dir = d.word(full, value)
		case "options":
			s.Options = d.word(full, value)
		case "program":
			s.Program = d.word(full, value)
		case "client":
			s.Client = d.word(full, value)
		case "keep":
			if keep := d.duration(full, value); keep != nil {
				s.Keep = *keep
			}
		default:
			return false
		}
		return true
	})
	if len(unknown) > 0 { // it may have been meant to confine
		d.fail(unknown[0], "there is no such key: host, workspace, dir, options, program, client, keep")
	}
	return s
}
