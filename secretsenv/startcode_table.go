package secretsenv

const (
	whyLoader        = "is read by the dynamic loader, which puts libraries into every program"
	whyLibc          = "makes the C library load code or steers its loader"
	whyPlugins       = "names libraries that programs load at start"
	whyShell         = "is a file or text that a shell runs when it starts"
	whyPrompt        = "holds text that a shell runs with each prompt or traced line"
	whyReading       = "changes how a shell reads its text, which was read without it"
	whyGitProgram    = "names a program that git runs"
	whyGitConfig     = "is git configuration, which names programs that git runs"
	whyPager         = "names a program that is run to show output"
	whyEditorProgram = "names a program that is run to edit"
	whyBrowser       = "names a program that is run to open addresses"
	whyRemote        = "names a program that is run to connect"
	whyInit          = "names a file that a program runs when it starts"
	whyNode          = "holds options with which node and its kin load code"
	whyPython        = "decides which code python runs when it starts"
	whyPerl          = "decides which code perl runs when it starts"
	whyRuby          = "decides which code ruby runs when it starts"
	whyJVM           = "holds options with which the Java machine loads agents"
	whyDotnet        = "names code that .NET loads into every program"
	whyErlang        = "holds options with which erlang runs code at start"
	whyPHP           = "names settings that load code into every php script"
	whyR             = "names a file that R runs when it starts"
	whyMake          = "holds text that make evaluates before any makefile"
	whyCompile       = "names a program that runs around each compiler call"
	whyOptions       = "holds options with which the program runs other programs"
)

// startCode is sorted by name. A row with a test of the value lets through what
// automation sets so that programs behave.
var startCode = []row{
	{name: "ACKRC", why: whyOptions, harmless: isNullFile},
	{name: "ANT_OPTS", why: whyJVM, harmless: isPlainJVM},
	{name: "ASPNETCORE_HOSTINGSTARTUPASSEMBLIES", why: whyDotnet},
	{name: "AWKLIBPATH", why: whyPlugins},
	{name: "AWKPATH", why: whyInit},
	{name: "BASHOPTS", why: whyReading},
	{name: "BASH_COMPAT", why: whyReading},
	{name: "BASH_ENV", why: whyShell},
	{name: "BASH_LOADABLES_PATH", why: whyShell},
	{name: "BAT_CONFIG_PATH", why: whyOptions, harmless: isNullFile},
	{name: "BORG_PASSCOMMAND", why: whyOptions},
	{name: "BORG_RSH", why: whyRemote},
	{name: "BROWSER", why: whyBrowser, harmless: isInert},
	{name: "BUNDLER_SETUP", why: whyRuby},
	{name: "BUN_OPTIONS", why: whyNode},
	{name: "BZR_SSH", why: whyRemote},
	{name: "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER", why: whyCompile},
	{name: "CARGO_BUILD_RUSTC_WRAPPER", why: whyCompile},
	{name: "CATALINA_OPTS", why: whyJVM, harmless: isPlainJVM},
	{name: "CDPATH", why: whyReading}, // moves what cd means
	{name: "CORECLR_ENABLE_PROFILING", why: whyDotnet, harmless: isZero},
	{name: "COR_ENABLE_PROFILING", why: whyDotnet, harmless: isZero},
	{name: "CVS_RSH", why: whyRemote},
	{name: "DLN_LIBRARY_PATH", why: whyRuby},
	{name: "DOTNET_ADDITIONAL_DEPS", why: whyDotnet},
	{name: "DOTNET_SHARED_STORE", why: whyDotnet},
	{name: "DOTNET_STARTUP_HOOKS", why: whyDotnet},
	{name: "ELIXIR_ERL_OPTIONS", why: whyErlang},
	{name: "EMACSLOADPATH", why: whyInit},
	{name: "ENV", why: whyShell},
	{name: "ERL_AFLAGS", why: whyErlang},
	{name: "ERL_FLAGS", why: whyErlang},
	{name: "ERL_ZFLAGS", why: whyErlang},
	{name: "EXECIGNORE", why: whyReading},
	{name: "EXINIT", why: whyInit},
	{name: "FCEDIT", why: whyEditorProgram, harmless: isInert},
	{name: "FPATH", why: whyShell}, // functions of ksh and zsh
	{name: "FZF_DEFAULT_COMMAND", why: whyOptions},
	{name: "FZF_DEFAULT_OPTS", why: whyOptions},
	{name: "FZF_DEFAULT_OPTS_FILE", why: whyOptions},
	{name: "GCONV_PATH", why: whyLibc},
	{name: "GDK_PIXBUF_MODULE_FILE", why: whyPlugins},
	{name: "GETCONF_DIR", why: whyLibc},
	{name: "GH_BROWSER", why: whyBrowser, harmless: isInert},
	{name: "GIO_EXTRA_MODULES", why: whyPlugins},
	{name: "GIO_MODULE_DIR", why: whyPlugins},
	{name: "GIT_ASKPASS", why: whyGitProgram, harmless: isInert},
	{name: "GIT_CONFIG", why: whyGitConfig, harmless: isNullFile},
	{name: "GIT_CONFIG_COUNT", why: whyGitConfig, harmless: isZero},
	{name: "GIT_CONFIG_GLOBAL", why: whyGitConfig, harmless: isNullFile},
	{name: "GIT_CONFIG_PARAMETERS", why: whyGitConfig},
	{name: "GIT_CONFIG_SYSTEM", why: whyGitConfig, harmless: isNullFile},
	{name: "GIT_EXEC_PATH", why: whyGitProgram},
	{name: "GIT_EXTERNAL_DIFF", why: whyGitProgram},
	{name: "GIT_PROXY_COMMAND", why: whyGitProgram},
	{name: "GIT_SEQUENCE_EDITOR", why: whyEditorProgram, harmless: isInert},
	{name: "GIT_SSH", why: whyGitProgram},
	{name: "GIT_SSH_COMMAND", why: whyGitProgram},
	{name: "GIT_TEMPLATE_DIR", why: whyGitProgram, harmless: isNullFile}, // hooks of new repositories
	{name: "GLIBC_TUNABLES", why: whyLibc},
	{name: "GLOBIGNORE", why: whyReading},
	{name: "GNUMAKEFLAGS", why: whyMake, harmless: isPlainMake},
	{name: "GOAUTH", why: whyRemote, harmless: isPlainGoAuth},
	{name: "GOFLAGS", why: whyCompile, harmless: isPlainGo},
	{name: "GRADLE_OPTS", why: whyJVM, harmless: isPlainJVM},
	{name: "GST_PLUGIN_PATH", why: whyPlugins},
	{name: "GST_PLUGIN_PATH_1_0", why: whyPlugins},
	{name: "GST_PLUGIN_SCANNER", why: whyPlugins},
	{name: "GST_PLUGIN_SYSTEM_PATH", why: whyPlugins},
	{name: "GST_PLUGIN_SYSTEM_PATH_1_0", why: whyPlugins},
	{name: "GS_LIB", why: whyInit},
	{name: "GS_OPTIONS", why: whyOptions},
	{name: "GTK3_MODULES", why: whyPlugins},
	{name: "GTK_MODULES", why: whyPlugins},
	{name: "GTK_PATH", why: whyPlugins},
	{name: "GVBINDIR", why: whyPlugins},
	{name: "GVIMINIT", why: whyInit},
	{name: "HGMERGE", why: whyOptions, harmless: isInert},
	{name: "HGRCPATH", why: whyInit, harmless: isNullFile},
	{name: "IBM_JAVA_OPTIONS", why: whyJVM},
	{name: "IFS", why: whyReading},
	{name: "IPYTHONDIR", why: whyInit},
	{name: "IRBRC", why: whyInit},
	{name: "JAVA_OPTS", why: whyJVM, harmless: isPlainJVM},
	{name: "JAVA_TOOL_OPTIONS", why: whyJVM},
	{name: "JDK_JAVAC_OPTIONS", why: whyJVM},
	{name: "JDK_JAVA_OPTIONS", why: whyJVM},
	{name: "JUPYTER_CONFIG_DIR", why: whyInit},
	{name: "JUPYTER_CONFIG_PATH", why: whyInit},
	{name: "LESS", why: whyOptions, harmless: isPlainLess},
	{name: "LESSCLOSE", why: whyOptions},
	{name: "LESSEDIT", why: whyOptions},
	{name: "LESSKEY", why: whyOptions},
	{name: "LESSKEYIN", why: whyOptions},
	{name: "LESSKEY_SYSTEM", why: whyOptions},
	{name: "LESSOPEN", why: whyOptions},
	{name: "LOCPATH", why: whyLibc},
	{name: "MAGICK_CODER_MODULE_PATH", why: whyPlugins},
	{name: "MAGICK_CONFIGURE_PATH", why: whyOptions}, // delegates.xml
	{name: "MAGICK_FILTER_MODULE_PATH", why: whyPlugins},
	{name: "MAKEFILES", why: whyMake},
	{name: "MAKEFLAGS", why: whyMake, harmless: isPlainMake},
	{name: "MALLOC_TRACE", why: whyLibc},
	{name: "MAVEN_OPTS", why: whyJVM, harmless: isPlainJVM},
	{name: "MPLBACKEND", why: whyPython, harmless: isNoModule},
	{name: "NLSPATH", why: whyLibc}, // format strings
	{name: "NODE_OPTIONS", why: whyNode},
	{name: "NODE_REPL_EXTERNAL_MODULE", why: whyNode},
	{name: "OCTAVE_SITE_INITFILE", why: whyInit},
	{name: "OCTAVE_VERSION_INITFILE", why: whyInit},
	{name: "OPENJ9_JAVA_OPTIONS", why: whyJVM},
	{name: "OPENSSL_CONF", why: whyPlugins, harmless: isNullFile},
	{name: "OPENSSL_ENGINES", why: whyPlugins},
	{name: "OPENSSL_MODULES", why: whyPlugins},
	{name: "P4DIFF", why: whyOptions, harmless: isInert},
	{name: "P4MERGE", why: whyOptions, harmless: isInert},
	{name: "PAGER", why: whyPager, harmless: isInert},
	{name: "PERL5DB", why: whyPerl},
	{name: "PERL5LIB", why: whyPerl}, // goes before strict.pm
	{name: "PERL5OPT", why: whyPerl},
	{name: "PERL5SHELL", why: whyPerl},
	{name: "PERLDB_OPTS", why: whyPerl},
	{name: "PERLLIB", why: whyPerl},
	{name: "PHPRC", why: whyPHP},
	{name: "PHP_INI_SCAN_DIR", why: whyPHP},
	{name: "POSIXLY_CORRECT", why: whyReading}, // also how GNU programs read options
	{name: "PROMPT_COMMAND", why: whyPrompt},
	{name: "PRYRC", why: whyInit},
	{name: "PS0", why: whyPrompt},
	{name: "PS1", why: whyPrompt},
	{name: "PS2", why: whyPrompt},
	{name: "PS4", why: whyPrompt},
	{name: "PYLINTRC", why: whyInit},
	{name: "PYTEST_ADDOPTS", why: whyPython, harmless: isPlainPytest},
	{name: "PYTEST_PLUGINS", why: whyPython},
	{name: "PYTHONBREAKPOINT", why: whyPython, harmless: isZero},
	{name: "PYTHONEXECUTABLE", why: whyPython},
	{name: "PYTHONHOME", why: whyPython},
	{name: "PYTHONINSPECT", why: whyPython},
	{name: "PYTHONPATH", why: whyPython}, // sitecustomize.py, and it goes before the standard library
	{name: "PYTHONPLATLIBDIR", why: whyPython},
	{name: "PYTHONPYCACHEPREFIX", why: whyPython},
	{name: "PYTHONSTARTUP", why: whyPython},
	{name: "PYTHONUSERBASE", why: whyPython}, // .pth files
	{name: "PYTHONWARNINGS", why: whyPython, harmless: isPlainWarnings},
	{name: "QT_PLUGIN_PATH", why: whyPlugins},
	{name: "QT_QPA_PLATFORM_PLUGIN_PATH", why: whyPlugins},
	{name: "RIPGREP_CONFIG_PATH", why: whyOptions, harmless: isNullFile},
	{name: "RSYNC_CONNECT_PROG", why: whyRemote},
	{name: "RSYNC_RSH", why: whyRemote},
	{name: "RUBYGEMS_GEMDEPS", why: whyRuby},
	{name: "RUBYLIB", why: whyRuby}, // goes before rubygems.rb
	{name: "RUBYOPT", why: whyRuby},
	{name: "RUBYSHELL", why: whyRuby},
	{name: "RUSTC_WORKSPACE_WRAPPER", why: whyCompile},
	{name: "RUSTC_WRAPPER", why: whyCompile},
	{name: "R_ENVIRON", why: whyR},
	{name: "R_ENVIRON_USER", why: whyR},
	{name: "R_PROFILE", why: whyR},
	{name: "R_PROFILE_USER", why: whyR},
	{name: "SBT_OPTS", why: whyJVM, harmless: isPlainJVM},
	{name: "SHELLOPTS", why: whyReading},
	{name: "SVN_MERGE", why: whyOptions, harmless: isInert},
	{name: "SVN_SSH", why: whyRemote},
	{name: "SYSTEM_WGETRC", why: whyOptions, harmless: isNullFile},
	{name: "TAR_OPTIONS", why: whyOptions},
	{name: "TCL_LIBRARY", why: whyInit},
	{name: "TS_NODE_REQUIRE", why: whyNode},
	{name: "VIM", why: whyInit},
	{name: "VIMINIT", why: whyInit},
	{name: "VIMRUNTIME", why: whyInit},
	{name: "VISUAL", why: whyEditorProgram, harmless: isInert},
	{name: "WGETRC", why: whyOptions, harmless: isNullFile},
	{name: "YARN_YARN_PATH", why: whyNode},
	{name: "ZDOTDIR", why: whyShell},
	{name: "_JAVA_OPTIONS", why: whyJVM},
	{name: "shell_escape", why: whyOptions}, // TeX
}
