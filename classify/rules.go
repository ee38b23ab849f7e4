package classify

// rule is the index of a row of the table of rules.
type rule uint8

// The rules, grouped by tag.
const (
	noRule rule = iota
	deleteFiles
	deleteWork
	deleteObjects
	deleteOption
	overwrite
	netClient
	netPackages
	netRepository
	netService
	netRemote
	netSocket
	netURL
	elevate
	setuid
	privileged
	remotePrivilege
	codeOption
	codeStdin
	codeEval
	codeSource
	codeText
	codeRemote
	codeAwk
	codeSed
	codeEditor
	codeClient
	codeAgain
	optionProgram
	variableProgram
	fetchRun
	decodeRun
	savedRun
	packageRun
	writeRedirect
	writeFile
	writeInPlace
	writeExtract
	writeTree
	writeOutside
	configPath
	configPepe
	configSandbox
	configCron
	configGit
	readOutside
	secretFile
	secretEnvironment
	secretPrinted
	backgroundJob
	backgroundDetached
	backgroundLater
	unknownProgram
	unknownText
)

// ruleRow is one rule: what a finding says.
type ruleRow struct {
	id  string
	tag Tags
	why string
}

var rules = [...]ruleRow{
	noRule:             {},
	deleteFiles:        {"delete-files", Deletes, "removes files; there is no way back"},
	deleteWork:         {"delete-work", Deletes, "throws away work that is not committed, or removes tracked files"},
	deleteObjects:      {"delete-objects", Deletes, "removes containers, volumes, cluster or cloud objects"},
	deleteOption:       {"delete-option", Deletes, "an option makes the tool remove files"},
	overwrite:          {"overwrite", Deletes, "overwrites or cuts the old content of a file"},
	netClient:          {"network-client", Network, "talks to another machine"},
	netPackages:        {"network-packages", Network, "fetches packages"},
	netRepository:      {"network-repository", Network, "exchanges data with a remote repository or registry"},
	netService:         {"network-service", Network, "calls a remote service"},
	netRemote:          {"network-remote-file", Network, "an operand names a file on another machine"},
	netSocket:          {"network-socket", Network, "the shell opens a connection (/dev/tcp, /dev/udp)"},
	netURL:             {"network-url", Network, "an operand is a URL that is fetched"},
	elevate:            {"elevate", Elevated, "runs as another user"},
	setuid:             {"set-user-id", Elevated, "makes a program run with more rights than its caller"},
	privileged:         {"privileged-container", Elevated, "the container has the host's rights"},
	remotePrivilege:    {"elevate-remote", Elevated, "runs as another user on another machine or in a container"},
	codeOption:         {"code-option", InlineEval, "an argument is program code"},
	codeStdin:          {"code-stdin", InlineEval, "an interpreter reads its program from a pipe or a here-document"},
	codeEval:           {"code-eval", InlineEval, "eval runs its arguments as code"},
	codeSource:         {"code-source", InlineEval, "sources text that is not a file of the workspace"},
	codeText:           {"code-text", InlineEval, "a shell is given text that is only known when it runs"},
	codeRemote:         {"code-remote", InlineEval, "another machine's shell is given text"},
	codeAwk:            {"code-awk", InlineEval, "the awk program runs commands"},
	codeSed:            {"code-sed", InlineEval, "the sed script runs commands"},
	codeEditor:         {"code-editor", InlineEval, "an editor is given commands that run programs or code"},
	codeClient:         {"code-client", InlineEval, "a client is told to run a program"},
	codeAgain:          {"code-again", InlineEval, "the shell expands this text a second time"},
	optionProgram:      {"option-program", InlineEval, "an option names a program that the tool will run"},
	variableProgram:    {"variable-program", InlineEval, "a variable names a program or library that will be run"},
	fetchRun:           {"fetch-run", DownloadExec, "runs bytes that come from the network"},
	decodeRun:          {"decode-run", DownloadExec, "runs bytes that were encoded so that nobody could read them"},
	savedRun:           {"fetch-save-run", DownloadExec, "runs a file that the same command fetched or decoded"},
	packageRun:         {"package-run", DownloadExec, "fetches a package and runs it"},
	writeRedirect:      {"write-redirect", WritesFile, "a redirection writes a file"},
	writeFile:          {"write-file", WritesFile, "creates or changes a file"},
	writeInPlace:       {"write-in-place", WritesFile, "changes files in place"},
	writeExtract:       {"write-extract", WritesFile, "unpacks files"},
	writeTree:          {"write-tree", WritesFile, "changes files of the working tree"},
	writeOutside:       {"write-outside", WritesOutside, "changes a path outside the workspace"},
	configPath:         {"config-path", ChangesConfig, "changes a file that later commands trust (shell start-up, git hook, cron, authorized_keys)"},
	configPepe:         {"config-pepe", ChangesConfig, "changes the agent's own configuration"},
	configSandbox:      {"config-sandbox", ChangesConfig, "changes the sandbox's own configuration"},
	configCron:         {"config-cron", ChangesConfig, "changes the user's cron table"},
	configGit:          {"config-git", ChangesConfig, "makes git run a program later"},
	readOutside:        {"read-outside", ReadsOutside, "reads a path outside the workspace"},
	secretFile:         {"secret-file", Secrets, "reads a file that holds credentials"},
	secretEnvironment:  {"secret-environment", Secrets, "prints the whole environment"},
	secretPrinted:      {"secret-printed", Secrets, "prints a credential"},
	backgroundJob:      {"background-job", Background, "keeps running after the command line returns"},
	backgroundDetached: {"background-detached", Background, "detaches a program from the session"},
	backgroundLater:    {"background-later", Background, "runs a program later"},
	unknownProgram:     {"unknown-program", UnknownTag, "the program's name is only known when it runs"},
	unknownText:        {"unknown-text", UnknownTag, "part of the text could not be read"},
}

// Rule is one rule as people read it.
type Rule struct {
	ID  string `json:"id"`
	Tag string `json:"tag"`
	Why string `json:"why"`
	// Match is a command that the rule finds, Spare a look-alike that it does not.
	Match string `json:"match"`
	Spare string `json:"spare"`
}

// Rules lists every rule, grouped by tag.
func Rules() []Rule {
	list := make([]Rule, 0, len(rules)-1)
	for i, r := range rules[1:] {
		var e example
		if i+1 < len(examples) {
			e = examples[i+1]
		}
		list = append(list, Rule{r.id, r.tag.String(), r.why, e.match, e.spare})
	}
	return list
}
