package secretsenv

import "strings"

// runsCode says how a variable makes a program run code when it starts, or
// changes how a shell reads its text. Code that a command starts is confined
// all the same; but what runs should be what was read and judged.
//
// Variables that name the tools of a build (CC, CXX, LD, AR, RUSTC, …), its
// directories (GOROOT, GOPATH, CARGO_HOME, GEM_HOME, VIRTUAL_ENV, NODE_PATH,
// CLASSPATH …), the repository (GIT_DIR) or the module to run (FLASK_APP,
// DJANGO_SETTINGS_MODULE) stay: builds need them, and the command, not the
// start of a program, decides that they are used.
func runsCode(name, value string) string {
	if strings.HasPrefix(value, "() {") {
		return "is a shell function, which old shells take in at start"
	}
	r, ok := find(startCode, name)
	if !ok {
		r, ok = findPrefix(startCodePrefixes, name)
	}
	if !ok {
		r, ok = findFamily(name)
	}
	if !ok || r.harmless != nil && r.harmless(value) {
		return ""
	}
	return r.why
}

// startCodePrefixes holds families of names.
var startCodePrefixes = []row{
	{name: "LD_", why: whyLoader}, // LD_RUN_PATH of the linker goes with them
	{name: "DYLD_", why: whyLoader},
	{name: "__XPC_DYLD_", why: whyLoader},
	{name: "_RLD", why: whyLoader},
	{name: "BASH_FUNC_", why: "is a function that bash takes in at start"},
	{name: "GIT_CONFIG_KEY_", why: whyGitConfig},
	{name: "GIT_CONFIG_VALUE_", why: whyGitConfig},
	{name: "LUA_INIT", why: "holds code that lua runs at start"}, // and LUA_INIT_5_4 …
	{name: "COR_PROFILER", why: whyDotnet},
	{name: "CORECLR_PROFILER", why: whyDotnet},
}

// findFamily knows names that a slice of prefixes cannot say.
func findFamily(name string) (row, bool) {
	switch {
	case strings.HasSuffix(name, "PAGER"): // GH_PAGER, AWS_PAGER, MANPAGER, …
		return row{why: whyPager, harmless: isInert}, true
	case strings.HasSuffix(name, "EDITOR"):
		return row{why: whyEditorProgram, harmless: isInert}, true
	case strings.HasPrefix(name, "CARGO_TARGET_") && strings.HasSuffix(name, "_RUNNER"):
		return row{why: "names a program that cargo puts before each program it runs"}, true
	case strings.HasPrefix(name, "CMAKE_") && strings.HasSuffix(name, "_COMPILER_LAUNCHER"):
		return row{why: whyCompile}, true
	case len(name) > len("npm_config_") && strings.EqualFold(name[:len("npm_config_")], "npm_config_"):
		return findNPM(name[len("npm_config_"):])
	}
	return row{}, false
}

// findNPM knows the settings of npm that name programs. npm takes them in any
// case, with "-" or "_".
func findNPM(setting string) (row, bool) {
	for _, s := range [...]string{"node_options", "script_shell", "shell", "git", "viewer", "browser", "init_module", "onload_script"} {
		if strings.EqualFold(strings.ReplaceAll(setting, "-", "_"), s) {
			return row{why: "names a program or code that npm runs", harmless: isInert}, true
		}
	}
	return row{}, false
}

// isInert reports programs that do nothing, or only copy. Automation sets
// PAGER=cat and GIT_EDITOR=true so that nothing waits for a person.
func isInert(value string) bool {
	switch value {
	case "", "cat", "true", "false", ":", "none",
		"/bin/cat", "/usr/bin/cat", "/bin/true", "/usr/bin/true", "/bin/false", "/usr/bin/false":
		return true
	}
	return false
}

// isNullFile reports a configuration file that is switched off.
func isNullFile(value string) bool { return value == "" || value == "/dev/null" }

// isZero reports a count of nothing.
func isZero(value string) bool { return value == "" || value == "0" }

// isPlainMake reports flags of make that neither evaluate text nor set
// variables: -j8, -k, --no-print-directory. A jobserver is not plain: its
// descriptors are closed inside.
func isPlainMake(value string) bool {
	for i, word := range strings.Fields(value) {
		switch {
		case word == "-" || word == "w":
		case word == "--no-print-directory", word == "--print-directory", word == "--silent", word == "--keep-going",
			strings.HasPrefix(word, "--jobs=") && isCount(word[len("--jobs="):]),
			strings.HasPrefix(word, "--output-sync"), strings.HasPrefix(word, "-O"):
		case strings.HasPrefix(word, "--"):
			return false
		case word[0] == '-' && isOneOf(word[1:], "jklswBnrRi0123456789."):
		case i == 0 && isOneOf(word, "kswBnrRi"): // make's own form: "ks -j4"
		case isCount(word): // "-j 4"
		default:
			return false
		}
	}
	return true
}

func isOneOf(s, set string) bool {
	return strings.Trim(s, set) == ""
}

// isPlainGo reports go flags that put no program around the tools.
func isPlainGo(value string) bool {
	return !strings.Contains(value, "-toolexec") && !strings.Contains(value, "-exec") && !strings.Contains(value, "-vettool") &&
		!strings.Contains(value, "-overlay")
}

// isPlainGoAuth reports the methods of GOAUTH that run no command.
func isPlainGoAuth(value string) bool { return value == "" || value == "off" || value == "netrc" }

// isPlainJVM reports options of a Java machine that load no agent and run no
// command. Heap sizes are what builds set here.
func isPlainJVM(value string) bool {
	for _, s := range [...]string{
		"-javaagent", "-agentlib", "-agentpath", "-XX:OnError", "-XX:OnOutOfMemoryError", "-XX:Flags",
		"-XX:VMOptionsFile", "-XX:+StartAttachListener", "-Xbootclasspath", "-Xrun", "--patch-module", "-Djava.system.class.loader",
		"-Dcom.sun.management", "@",
	} {
		if strings.Contains(value, s) {
			return false
		}
	}
	return true
}

// isPlainWarnings reports python warning filters without a category of a
// module, which python would import.
func isPlainWarnings(value string) bool { return !strings.Contains(value, ".") }

// isPlainPytest reports options without -p, -c and -o, which load modules.
func isPlainPytest(value string) bool {
	for _, word := range strings.Fields(value) {
		if len(word) >= 2 && word[0] == '-' && strings.IndexByte("pco", word[1]) >= 0 ||
			strings.HasPrefix(word, "--config-file") || strings.HasPrefix(word, "--override-ini") || strings.HasPrefix(word, "--rootdir") {
			return false
		}
	}
	return true
}

// isPlainLess reports options of less without a command to start with.
func isPlainLess(value string) bool { return !strings.ContainsAny(value, "+!|") }

// isNoModule reports a name that is not module://NAME.
func isNoModule(value string) bool { return !strings.HasPrefix(value, "module:") }
