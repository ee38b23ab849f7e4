package classify

// special is a grammar, or a part of one, that no row can say.
type special uint8

const (
	noSpecial special = iota
	findCommand
	ddCommand
	// what follows is done after the row's own options and operands were read
	ansibleCommand
	aptCommand
	arCommand
	atCommand
	awkCommand
	awsCommand
	azCommand
	badblocksCommand
	browserCommand
	bunCommand
	bunRun
	cargoCommand
	chmodMode
	cloudVerbs
	cmakeCommand
	containerExec
	copies
	cpioCommand
	crontabCommand
	cryptsetupCommand
	curlCommand
	databaseClient
	dcCommand
	declareCommand
	decodes
	denoCommand
	denoRun
	dockerBuild
	dockerCopy
	dockerRun
	dotnetAdd
	dpkgCommand
	edCommand
	emacsCommand
	envCommand
	environmentOf
	evalCommand
	fdCommand
	fdiskCommand
	ffmpegCommand
	fixes
	flockCommand
	formats
	gcloudCommand
	gdbCommand
	ghCommand
	gitApply
	gitArchive
	gitBundle
	gitCheckout
	gitClean
	gitClone
	gitCommand
	gitConfigCommand
	gitCredential
	gitDiff
	gitFetch
	gitFormatPatch
	gitGrep
	gitReadTree
	gitRecord
	gitRemoteOperand
	gitRemove
	gitReset
	gitRestore
	gitSequence
	gitSparse
	gitStash
	gitSubmodule
	gitSubtree
	gitSwitch
	goClean
	goCommand
	goEnv
	goInstall
	goRun
	goTest
	goTool
	gpgCommand
	installCommand
	interpreter
	jarCommand
	javaCommand
	jqCommand
	kubeConfigView
	kubeFiles
	lessCommand
	lftpCommand
	linkCommand
	m4Command
	makeCommand
	manCommand
	mavenCommand
	mixCommand
	mkfsCommand
	mktempCommand
	netcat
	nixRun
	nohupCommand
	npmInit
	nsenterCommand
	opensslCommand
	packageRunner
	packsInPlace
	pacmanCommand
	partedCommand
	patchCommand
	printenvCommand
	psCommand
	railsGenerate
	railsRunner
	rcloneCommand
	remoteCopy
	rpmCommand
	s3Command
	sbxCommand
	screenCommand
	scriptCommand
	sdCommand
	secretStore
	sedCommand
	setCommand
	setsidCommand
	sevenZip
	sftpCommand
	shellCommand
	shufCommand
	socatCommand
	sourceCommand
	sqliteClient
	sshCommand
	sshKeygen
	startDaemon
	straceCommand
	suCommand
	sudoCommand
	svnCommand
	sysctlCommand
	systemdRun
	tarCommand
	terraformInit
	terraformLocal
	tmuxCommand
	trapCommand
	unpacksInPlace
	unrarCommand
	unzipCommand
	uvRun
	vagrantSSH
	vimCommand
	watchCommand
	wgetCommand
	wipefsCommand
	xargsCommand
	yarnCommand
	yarnSet
	yqCommand
	zipCommand
)

// own reports whether a special reads the words itself.
func (s special) own() bool { return s == findCommand || s == ddCommand }

// special does what the row leaves to code.
func (c *classifier) special(r *reading) {
	c.does(r, r.row.does)
	if r.sub != r.row {
		c.does(r, r.sub.does)
	}
}

func (c *classifier) does(r *reading, s special) {
	switch {
	case s == noSpecial:
	case s >= gitApply && s <= gitSwitch:
		c.git(r, s)
	default:
		if !c.runsOther(r, s) && !c.runsCode(r, s) && !c.touchesFiles(r, s) && !c.talks(r, s) {
			c.administers(r, s)
		}
	}
}
