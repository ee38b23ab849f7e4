package netrules

// Preset is a list of rules with a name, for one kind of tool.
type Preset struct {
	Name  string       `json:"name"`
	For   string       `json:"for"`
	Hosts []PresetHost `json:"hosts"`
}

// PresetHost is one rule of a preset and why it is there.
type PresetHost struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// presets hold what fetching needs, and no host where anybody can put files up
// under a name of their choice if it can be helped.
var presets = [...]Preset{
	{"crates", "cargo", []PresetHost{
		{"index.crates.io:443", "the sparse index (doc.rust-lang.org/cargo/reference/registries.html)"},
		{"static.crates.io:443", "the files of crates"},
		{"crates.io:443", "the API of the registry"},
	}},
	{"debian", "apt", []PresetHost{
		{"deb.debian.org", "packages (deb.debian.org)"},
		{"security.debian.org", "security updates"},
	}},
	{"git", "git over https and ssh at public forges", []PresetHost{
		{"github.com:443", "repositories"},
		{"github.com:22", "repositories over ssh"},
		{"codeload.github.com:443", "archives of a revision"},
		{"objects.githubusercontent.com:443", "files of releases"},
		{"release-assets.githubusercontent.com:443", "files of releases"},
		{"raw.githubusercontent.com:443", "single files"},
		{"media.githubusercontent.com:443", "large files (git-lfs)"},
		{"github-cloud.githubusercontent.com:443", "large files (git-lfs)"},
		{"gitlab.com:443", "repositories"},
		{"gitlab.com:22", "repositories over ssh"},
		{"bitbucket.org:443", "repositories"},
		{"bitbucket.org:22", "repositories over ssh"},
		{"codeberg.org:443", "repositories"},
		{"codeberg.org:22", "repositories over ssh"},
	}},
	{"go", "go mod download, go install", []PresetHost{
		{"proxy.golang.org:443", "modules and toolchains (go.dev/ref/mod)"},
		{"sum.golang.org:443", "the check sum data base"},
	}},
	{"npm", "npm, yarn, pnpm", []PresetHost{
		{"registry.npmjs.org:443", "packages"},
		{"registry.yarnpkg.com:443", "the same under yarn's name"},
	}},
	{"pypi", "pip, uv, poetry", []PresetHost{
		{"pypi.org:443", "the index"},
		{"files.pythonhosted.org:443", "the files of packages"},
	}},
}

// Presets lists all presets, sorted by name.
func Presets() []Preset { return presets[:] }

// preset finds one by its name. A host of the same name is written with a port.
func preset(name string) (Preset, bool) {
	for _, p := range presets {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}
