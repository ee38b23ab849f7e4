package guard

import "strings"

// action is what a function of another language does with its arguments.
type action uint8

const (
	noAction    action = iota
	runsCommand        // the first string is a command line, or all are an argument vector
	runsCode           // the first string is code of the same language
	deletesTree        // every string is a tree that is deleted
	deletesIf          // the same, if an argument says "recursive"
	unlinks            // single files: only a pattern makes it a tree
	movesAway          // the first string is moved
	changesMode        // every string is a tree whose mode or owner changes
	writesFile         // the first string is a file that is written
	writesPath         // the receiver is a file that is written: Path("x").write_text
	openFile           // the same, if the mode says so
	goesTo             // the working directory
)

// actionOf finds the action of a function by the last part of its name:
// os.system, subprocess.run, FileUtils.rm_rf, child_process.execSync.
func actionOf(l *lang, name string) action {
	switch name {
	case "system", "popen", "popen2", "popen3", "popen4", "execSync", "execFile", "execFileSync", "spawn", "spawnSync", "spawnl", "spawnlp", "spawnv", "spawnvp",
		"check_call", "check_output", "Popen", "getoutput", "getstatusoutput", "shell_exec", "passthru", "proc_open", "pcntl_exec",
		"capture2", "capture2e", "capture3", "pipeline", "execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp",
		"create_subprocess_shell", "create_subprocess_exec", "system2", "execa", "execaSync", "execaCommand", "$", "syscmd", "Command", "ProcessBuilder", "callCommand", "callProcess", "rawSystem", "spawnCommand",
		"spawn_command_line_sync", "spawn_command_line_async", "termopen", "jobstart", "systemlist":
		return runsCommand
	case "execute", "cmd", "process", "command", "shell", "script", "run", "call", "sh":
		return commandIn(l, name)
	case "exec":
		if l.name == "python" {
			return runsCode
		}
		return runsCommand
	case "eval", "Function", "compile", "instance_eval", "class_eval", "eval_string", "loadstring", "load":
		return runsCode
	case "rmtree", "rm_rf", "rm_r", "rm_rf!", "remove_entry", "remove_entry_secure", "remove_dir", "remove_tree", "rimraf", "rimrafSync", "removeSync", "emptyDirSync", "emptyDir",
		"deleteSync", "deleteAsync", "delete_tree", "deltree", "deleteDir", "removeDirectoryRecursive", "removePathForcibly", "deleteRecursively", "deleteDirectory", "rmrf":
		return deletesTree
	case "rm", "rmSync", "rmdir", "rmdirSync", "remove":
		return deletesIf
	case "directory": // (delete-directory "/")
		if l.name == "lisp" {
			return deletesTree
		}
	case "unlink":
		if l.name == "r" {
			return deletesIf
		}
		return unlinks
	case "move", "rename", "renameSync", "mv":
		return movesAway
	case "chmod_R", "chown_R":
		return changesMode
	case "writeFileSync", "writeFile", "file_put_contents", "createWriteStream", "write_file", "binwrite", "appendFileSync", "appendFile":
		return writesFile
	case "write_bytes", "write_text":
		return writesPath
	case "write":
		if l.name == "ruby" {
			return writesFile
		}
	case "open", "fopen", "openSync":
		return openFile
	case "chdir", "cd":
		return goesTo
	}
	return noAction
}

// commandIn judges names that run a command in some languages only, and are
// everyday words in the others: cursor.execute, app.run.
func commandIn(l *lang, name string) action {
	in := ""
	switch name {
	case "execute":
		in = "lua"
	case "cmd", "shell":
		in = "elixir erl raku prolog clojure"
	case "command", "process":
		in = "lisp ocaml"
	case "script":
		in = "applescript"
	case "run":
		in = "python julia js raku"
	case "call":
		in = "python"
	case "sh":
		in = "js groovy clojure"
	}
	if listed(in, l.name) {
		return runsCommand
	}
	return noAction
}

// owned reports whether a method name belongs to the module that runs
// commands: subprocess.run, but not app.run.
func (p *code) owned(j int) bool {
	switch p.tokens[j].text {
	case "run", "call":
		if p.kind(j-1) != '.' {
			return true
		}
		switch p.tokens[max(0, j-2)].text {
		case "subprocess", "sp", "s", "sub", "subp", "Deno":
			return true
		}
		return p.kind(j-2) == ')' // __import__("subprocess").run
	}
	return true
}

// act judges a call whose arguments stand between two tokens.
func (p *code) act(act action, j, start, end int) {
	args, words := p.values(start, end)
	if act == writesPath || len(args) == 0 && act == deletesTree {
		args = p.receiver(j)
	}
	if len(args) == 0 {
		return
	}
	switch act {
	case runsCommand:
		p.command(args)
	case runsCode:
		inner := checker{s: p.k.s, depth: p.k.depth + 1, allow: p.k.allow}
		inner.scan(p.i, p.c, p.lang, args[0])
		for _, v := range inner.out {
			p.k.add(v)
		}
	case deletesIf:
		if strings.HasPrefix(args[0], "-") { // shelljs: rm('-rf', '/')
			p.k.runArgv(p.i, p.dir, append([]string{"rm"}, args...))
			return
		}
		if !listedIn(words, "recursive") && !(p.lang.name == "python" && p.kind(j-1) == '.' && p.kind(j-2) == 'i' && p.tokens[j-2].text == "sh") {
			return
		}
		p.trees(wayDelete, args)
	case deletesTree:
		p.trees(wayDelete, args)
	case unlinks:
		for _, a := range args {
			if strings.ContainsAny(a, "*?[") {
				p.trees(wayDelete, strings.Fields(a))
			}
		}
	case movesAway:
		p.trees(wayMove, args[:1])
	case changesMode:
		p.trees(wayMode, args)
	case writesFile, writesPath:
		p.write(args[0])
	case openFile:
		p.open(args, words)
	case goesTo:
		p.dir = p.k.below(p.dir, args[0])
	}
}

// command judges a call that runs a command: one string is read by a shell,
// several are an argument vector. Both are judged where it could be either.
func (p *code) command(args []string) {
	p.run(args[0])
	if len(args) == 1 {
		return
	}
	p.k.runArgv(p.i, p.dir, args)
	if args[0] == args[1] || strings.HasSuffix(args[0], "/"+args[1]) { // execl(path, argv0, …)
		p.k.runArgv(p.i, p.dir, args[1:])
	}
}

// receiver evaluates the call that a method stands behind: Path("/").rmtree.
func (p *code) receiver(j int) []string {
	if p.kind(j-1) != '.' || p.kind(j-2) != ')' {
		return nil
	}
	depth := 0
	for n := j - 2; n >= 0; n-- {
		switch p.kind(n) {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				args, _ := p.values(n+1, j-2)
				return args
			}
		}
	}
	return nil
}

func (p *code) trees(w way, paths []string) {
	c := *p.c
	c.Dir = p.dir
	for _, v := range paths {
		if v == "" || strings.Contains(v, hole) {
			continue
		}
		if p.lang.name == "r" && v[0] == '~' { // R expands it
			v = p.k.s.Where.Home + v[1:]
		}
		if at, shown := p.k.judgePath(&c, v, true); at != elsewhere {
			p.k.reportCode(w, p.i, at, shown)
			return
		}
	}
}

// open judges open(file, mode): a mode with w, a, + or > writes.
func (p *code) open(args, words []string) {
	v := args[0]
	if p.lang.name == "perl" {
		for n, a := range args {
			rest := args[n+1:]
			switch {
			case (a == "|-" || a == "-|") && len(rest) > 0:
				p.command(rest)
			case strings.HasPrefix(a, "|") || strings.HasSuffix(a, "|"):
				p.run(strings.Trim(a, "|"))
			case (strings.HasPrefix(a, ">") || strings.HasPrefix(a, "+<")) && len(rest) > 0:
				p.write(rest[0])
			case strings.HasPrefix(a, ">"):
				p.write(strings.TrimSpace(strings.TrimLeft(a, ">")))
			}
		}
		return
	}
	writes := len(args) > 1 && strings.ContainsAny(args[1], "wax+") && len(args[1]) < 5
	for _, word := range words {
		writes = writes || word == "O_WRONLY" || word == "O_RDWR" || word == "WRONLY" || word == "RDWR"
	}
	if writes {
		p.write(v)
	}
}

func (k *checker) reportCode(w way, i int, at place, shown string) {
	what := shown + " (" + at.String() + ")"
	if at == rootDir || at == rootList {
		what = at.String()
	}
	k.report(w, i, what, known(&k.s.Calls[i].Words[0])+" … "+shown)
}
