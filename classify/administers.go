package classify

import (
	"strings"

	"github.com/sbx-run/sbx/shell"
)

// administers handles containers, packages, clouds, databases, editors, the
// system and the shell's own builtins.
func (c *classifier) administers(r *reading, s special) {
	switch s {
	case containerExec:
		if r.has("d detach") && r.name != "kubectl" && r.name != "oc" {
			c.addCall(backgroundDetached, r.call)
		}
		c.containerExec(r)
	case dockerRun:
		c.containerRun(r)
	case dockerCopy:
		c.dockerCopy(r)
	case dockerBuild:
		if n := len(r.ops); n > 0 && !isURL(r.op(n-1)) {
			c.path(r, 'r', &r.words[r.ops[n-1]])
		}
	case kubeFiles:
		c.kubeFiles(r)
	case kubeConfigView:
		if r.has("raw") {
			c.addCall(secretPrinted, r.call)
		}
	case vagrantSSH:
		if w, ok := r.value("c"); ok {
			c.addCall(codeRemote, r.call)
			c.elsewhere(r, []shell.Word{w})
		}
	case goRun:
		c.goRun(r)
	case goInstall:
		for _, k := range r.ops {
			if v := r.words[k].Value; strings.Contains(v, "@") {
				c.addCall(netPackages, r.call)
				return
			}
		}
	case goClean:
		for _, o := range r.opts {
			if strings.HasPrefix(o.how, "+d") {
				c.addCall(writeOutside, r.call)
				return
			}
		}
		c.addCall(deleteOption, r.call)
	case goEnv:
		if r.has("w u") {
			c.addCall(writeFile, r.call)
			c.addCall(writeOutside, r.call)
		}
	case npmInit:
		if len(r.ops) > 0 {
			c.addCall(netPackages, r.call)
			c.addCall(packageRun, r.call)
		} else {
			c.addCall(writeFile, r.call)
		}
	case nixRun:
		if len(r.ops) > 0 && (strings.Contains(r.op(0), ":") || strings.Contains(r.op(0), "#") && !strings.HasPrefix(r.op(0), ".")) {
			c.addCall(packageRun, r.call)
		}
	case uvRun:
		if len(r.ops) > 0 && isURL(r.op(0)) {
			c.remoteScript(r, &r.words[r.ops[0]])
		}
	case dotnetAdd:
		for _, k := range r.ops {
			if r.words[k].Value == "package" {
				c.addCall(netPackages, r.call)
			}
		}
	case mavenCommand:
		for _, k := range r.ops {
			if v := r.words[k].Value; strings.HasPrefix(v, "dependency:") || v == "deploy" || strings.HasPrefix(v, "versions:") {
				c.addCall(netPackages, r.call)
				return
			}
		}
	case yarnCommand:
		if r.sub == r.row && len(r.ops) == 0 { // alone it is yarn install
			c.addCall(netPackages, r.call)
		}
	case mixCommand:
		if strings.HasPrefix(r.subName, "pepe.") {
			c.addCall(configPepe, r.call)
		}
	case yarnSet:
		if r.op(0) == "version" {
			c.addCall(netPackages, r.call)
		}
	case pacmanCommand:
		if r.has("S") && !r.has("s i l g") || r.has("S") && r.has("y u") {
			c.addCall(netPackages, r.call)
		}
		if r.has("U") {
			c.addCall(writeFile, r.call)
		}
	case rpmCommand:
		if r.has("i U F") && !r.has("q") {
			for _, k := range r.ops {
				if isURL(r.words[k].Value) {
					c.addCall(netPackages, r.call)
				}
			}
		} else {
			r.ops = r.ops[:0]
		}
	case aptCommand: // apt.conf(5): DPkg::Pre-Invoke, APT::Update::Post-Invoke …
		for _, o := range r.opts {
			if w := r.word0(o); listed("o option", o.name) && strings.Contains(strings.ToLower(w.Value), "-invoke") {
				c.add(optionProgram, r.call, w.Span, w.Value)
			}
		}
	case cargoCommand: // config.toml: what runs in the place of rustc, ld or the program
		for _, o := range r.opts {
			if w := r.word0(o); o.name == "config" && (strings.Contains(w.Value, "wrapper") || strings.Contains(w.Value, "runner") || strings.Contains(w.Value, "linker") || strings.Contains(w.Value, "rustc=") || strings.Contains(w.Value, "alias.")) {
				c.add(optionProgram, r.call, w.Span, w.Value)
			}
		}
	case dpkgCommand:
		if r.has("i install c contents I info unpack") {
			c.everyOperand(r, 'r')
		} else if r.has("x X extract vextract") && len(r.ops) > 1 {
			c.addCall(writeExtract, r.call)
			c.path(r, 'w', &r.words[r.ops[1]])
		}
	case ansibleCommand:
		if m, ok := r.value("m module-name"); ok && listed("shell command raw script", m.Value) || !ok && r.has("a args") {
			c.addCall(codeRemote, r.call)
		}
		if r.has("b become") {
			c.addCall(remotePrivilege, r.call)
		}
	case gcloudCommand, azCommand, cloudVerbs, ghCommand, secretStore, terraformInit:
		c.cloud(r, s)
	case databaseClient, sqliteClient:
		c.database(r, s)
	case declareCommand, setCommand, printenvCommand, environmentOf, psCommand:
		c.environment(r, s)
	default:
		c.system(r, s)
	}
}

// containerExec: the first operand names the container, what follows runs in it.
func (c *classifier) containerExec(r *reading) {
	k := 1
	if len(r.ops) < 2 {
		return
	}
	for k < len(r.ops) && (r.op(k) == "--" || strings.HasPrefix(r.op(k), "-")) && r.op(k) != "-" {
		v := r.op(k)
		k++
		if v == "--" {
			break
		}
		if v == "-c" || v == "-n" || v == "--container" || v == "--namespace" {
			k++
		}
	}
	if k < len(r.ops) {
		c.elsewhere(r, r.words[r.ops[k]:])
	}
}

// containerRun: the first operand names the image, what follows is the command
// or, with --entrypoint, its arguments.
func (c *classifier) containerRun(r *reading) {
	var words []shell.Word
	if w, ok := r.value("entrypoint"); ok {
		words = append(words, w)
	}
	if len(r.ops) > 1 {
		words = append(words, r.words[r.ops[1]:]...)
	}
	c.elsewhere(r, words)
}

// dockerCopy copies between this machine and a container (NAME:PATH).
func (c *classifier) dockerCopy(r *reading) {
	n := len(r.ops)
	for i, k := range r.ops {
		w := &r.words[k]
		switch {
		case remoteOperand(w.Value) || w.Value == "-":
		case i == n-1 && n > 1:
			c.addCall(writeFile, r.call)
			c.path(r, 'w', w)
		default:
			c.path(r, 'r', w)
		}
	}
}

func (c *classifier) kubeFiles(r *reading) {
	for _, o := range r.opts {
		if o.word >= 0 && (o.name == "dry-run" && r.word(o).Value != "none") {
			return
		}
	}
	if r.subName == "get" && strings.HasPrefix(r.op(0), "secret") {
		if w, ok := r.value("o output"); ok && w.Value != "wide" && w.Value != "name" {
			c.addCall(secretPrinted, r.call)
		}
	}
	if r.subName == "run" && r.dashes >= 0 && r.dashes < len(r.ops) {
		c.elsewhere(r, r.words[r.ops[r.dashes]:])
	}
}

func (c *classifier) goRun(r *reading) {
	if len(r.ops) == 0 {
		return
	}
	w := &r.words[r.ops[0]]
	host, _, slash := strings.Cut(w.Value, "/")
	if slash && strings.Contains(w.Value, "@") && strings.Contains(host, ".") && host != "." && host != ".." {
		c.addCall(netPackages, r.call)
		c.addCall(packageRun, r.call)
		return
	}
	c.script(r, w)
}

// cloud reads the verbs of cloud clients.
func (c *classifier) cloud(r *reading, s special) {
	switch s {
	case secretStore:
		switch r.op(0) {
		case "kv", "read", "item", "get", "show", "lookup", "find-generic-password", "find-internet-password":
			c.addCall(secretPrinted, r.call)
		}
		if r.name == "sops" && r.has("d decrypt") || r.name == "pass" && len(r.ops) > 0 && !listed("ls list insert generate rm mv cp git init find grep edit help version", r.op(0)) {
			c.addCall(secretPrinted, r.call)
		}
		return
	case terraformInit:
		if w, ok := r.value("backend"); !ok || w.Value != "false" {
			c.addCall(netService, r.call)
		}
		return
	}
	if s != cloudVerbs && !listed("completion help version config alias configure info", r.op(0)) && len(r.ops) > 0 && (s != ghCommand || r.op(0)+" "+r.op(1) != "auth token") {
		c.addCall(netService, r.call)
	}
	for n := range r.ops {
		switch v := r.op(n); v {
		case "delete", "destroy", "apps:destroy", "purge", "rm", "rb":
			c.addCall(deleteObjects, r.call)
			return
		case "print-access-token", "print-identity-token", "get-access-token", "token":
			if n > 0 && (r.op(n-1) == "auth" || strings.HasPrefix(r.op(n-1), "application-default") || r.op(n-1) == "account") {
				c.addCall(secretPrinted, r.call)
			}
		}
	}
	if s == ghCommand && (r.op(0) == "gist" && r.op(1) == "create" || r.op(0) == "release" && listed("create upload", r.op(1)) && len(r.ops) > 3) {
		for _, k := range r.ops[2:] {
			c.read(r.call, &r.words[k], r.dir)
		}
	}
	if s == ghCommand {
		c.gh(r)
	}
}

func (c *classifier) gh(r *reading) {
	switch r.op(0) + " " + r.op(1) {
	case "release download", "run download", "repo clone", "gist clone", "pr checkout":
		c.addCall(writeFile, r.call)
	case "api ":
	}
	if r.op(0) == "api" || r.op(0) == "gist" && r.op(1) == "view" || r.op(0) == "release" && r.has("O output") {
		c.carry(r.call, fromNetwork)
	}
}

// database: SQL is data, but clients have commands that run programs and
// write files.
func (c *classifier) database(r *reading, s special) {
	for _, o := range r.opts {
		if o.word < 0 || !listed("c command e execute cmd", o.name) {
			continue
		}
		w := r.word(o)
		c.databaseText(r, &w)
	}
	for n, k := range r.ops {
		w := &r.words[k]
		if isURL(w.Value) && !strings.Contains(w.Value, "://localhost") && !strings.Contains(w.Value, ":///") {
			c.add(netURL, r.call, w.Span, w.Value)
		}
		if s == sqliteClient && n > 0 {
			c.databaseText(r, w)
		}
	}
	call := &c.s.Calls[r.call]
	if call.In != nil {
		c.databaseText(r, call.In)
	}
	if strings.HasPrefix(r.name, "mongo") && r.row.does == databaseClient && strings.Contains(r.row.opts, "eval=c") && (call.In != nil || len(call.PipeFrom) > 0) && !r.has("eval") {
		c.addCall(codeStdin, r.call)
	}
}

func (c *classifier) databaseText(r *reading, w *shell.Word) {
	v := strings.TrimSpace(w.Value)
	low := strings.ToLower(v)
	switch {
	case strings.HasPrefix(v, ".shell"), strings.HasPrefix(v, ".system"), strings.HasPrefix(v, `\!`), strings.HasPrefix(low, "system "), strings.Contains(low, "to program"), strings.Contains(low, "from program"), strings.Contains(v, "\n\\!"), strings.Contains(v, "\n.shell"), strings.Contains(v, "\n.system"):
		c.add(codeClient, r.call, w.Span, cut(v))
	}
	for _, p := range [...]string{".output ", ".once ", ".backup ", ".save ", ".dump ", ".log ", `\o `, `\w `} {
		if rest, ok := strings.CutPrefix(v, p); ok && p != ".dump " {
			f := strings.Fields(rest)
			if len(f) > 0 {
				name := strings.Trim(f[len(f)-1], `'"`)
				c.path(r, 'w', &shell.Word{Value: name, Prefix: name, Literal: true, Span: w.Span})
			}
		}
	}
	if k := strings.Index(low, " to '"); k > 0 && strings.HasPrefix(low, `\copy`) {
		name, _, _ := strings.Cut(v[k+len(" to '"):], "'")
		c.path(r, 'w', &shell.Word{Value: name, Prefix: name, Literal: true, Span: w.Span})
	}
	if rest, ok := strings.CutPrefix(v, ".read "); ok {
		c.path(r, 'r', &shell.Word{Value: rest, Prefix: rest, Literal: true, Span: w.Span})
	}
}

// environment: what prints every variable prints every secret among them.
func (c *classifier) environment(r *reading, s special) {
	call := &c.s.Calls[r.call]
	switch s {
	case environmentOf:
		if db := r.op(0); db == "shadow" || db == "gshadow" {
			c.addCall(secretFile, r.call)
		}
	case printenvCommand:
		if len(r.ops) == 0 {
			c.addCall(secretEnvironment, r.call)
		}
	case setCommand:
		if len(r.words) == 1 {
			c.addCall(secretEnvironment, r.call)
		}
	case declareCommand:
		if len(call.Assigns) > 0 || r.has("f F n") || r.name == "local" {
			return
		}
		names := 0
		for _, w := range r.words[1:] {
			if !strings.HasPrefix(w.Value, "-") && !strings.HasPrefix(w.Value, "+") {
				names++
			}
		}
		if names == 0 && (len(r.words) == 1 || r.has("p x")) && (r.name != "readonly") {
			c.addCall(secretEnvironment, r.call)
		}
	case psCommand:
		if len(r.ops) > 0 {
			if v := r.op(0); len(v) < 7 && strings.Contains(v, "e") && strings.Trim(v, "axuewfljsv") == "" {
				c.addCall(secretEnvironment, r.call)
			}
		}
	}
}

// system handles what is left: schedules, disks, services, editors' relatives.
func (c *classifier) system(r *reading, s special) {
	switch s {
	case crontabCommand:
		if !r.has("l") {
			c.addCall(configCron, r.call)
		}
	case cryptsetupCommand:
		if strings.EqualFold(r.op(0), "luksFormat") || r.op(0) == "erase" || r.op(0) == "luksErase" || r.op(0) == "format" {
			for _, k := range r.ops[1:] {
				c.changed(r.call, &r.words[k], r.dir)
			}
		}
	case mkfsCommand:
		if r.has("n") && (strings.HasPrefix(r.name, "mke2fs") || strings.HasPrefix(r.name, "mkfs.ext")) || r.has("N") && strings.Contains(r.name, "xfs") {
			return
		}
		for _, k := range r.ops {
			c.path(r, 'o', &r.words[k])
		}
	case wipefsCommand:
		if r.has("a all o offset") {
			c.everyOperand(r, 'd')
		}
	case badblocksCommand:
		if r.has("w n") {
			for _, k := range r.ops {
				c.changed(r.call, &r.words[k], r.dir)
			}
		}
	case partedCommand:
		if len(r.ops) > 0 && (r.row.name == "sgdisk" || r.row.name == "sfdisk" || len(r.ops) > 1 && r.op(1) != "print") {
			c.changed(r.call, &r.words[r.ops[0]], r.dir)
		}
	case fdiskCommand:
		if r.has("l list") {
			for _, k := range r.ops {
				c.list(r.call, &r.words[k], r.dir)
			}
		} else if len(r.ops) > 0 {
			c.changed(r.call, &r.words[r.ops[0]], r.dir)
		}
	case sysctlCommand:
		for _, k := range r.ops {
			if strings.Contains(r.words[k].Value, "=") {
				c.addCall(writeOutside, r.call)
			}
		}
	case sbxCommand:
		c.sbx(r)
	}
}

// sbx: the sandbox's own controls. exec and run carry a command.
func (c *classifier) sbx(r *reading) {
	switch r.op(0) {
	case "setup", "approve", "deny", "token", "config", "grants", "hook", "wrapper", "network", "image":
		c.addCall(configSandbox, r.call)
	}
}
