package classify

// gitTools are version control systems. A subcommand that changes only the
// repository's own data carries no tag; one that changes the working tree
// writes files. Source: the manual pages of Git 2.47.
var gitTools = []program{
	{name: "bzr", like: "hg"},
	{name: "git", does: gitCommand, style: exact, opts: "C=/ c= git-dir= work-tree=/ namespace= exec-path? super-prefix= config-env= attr-source= list-cmds= h+~ v+~ help+~ version+~ html-path+~ man-path+~ info-path+~ p+ P+ paginate+ no-pager+ bare+", subs: gitSubs},
	{name: "git-lfs", like: "lfs"},
	{name: "hg", subs: []program{
		{name: "clone pull push fetch incoming outgoing in out", sets: []rule{netRepository}, opts: "e=! ssh=! remotecmd=! r= b="},
		{name: "update up checkout co revert merge rebase graft import backout", sets: []rule{writeTree}},
		{name: "purge clean", sets: []rule{deleteWork}},
		{name: "remove rm", sets: []rule{deleteWork}},
	}},
	{name: "jj", subs: []program{{name: "git", sets: []rule{netRepository}}, {name: "abandon restore new edit squash", sets: []rule{writeTree}}}},
	{name: "lfs", subs: []program{{name: "pull fetch push clone", sets: []rule{netRepository}}}},
	{name: "pre-commit", subs: []program{{name: "run", args: "-"}, {name: "install uninstall", sets: []rule{configGit}}, {name: "autoupdate", sets: []rule{netRepository}}}},
	{name: "tig", args: "-"},
}

const gitTransport = "upload-pack=! receive-pack=! u=! exec=! "

const gitDiffing = "output=> ext-diff+ no-index+ no-ext-diff+ o= O=< S= G= U= n= L= format= pretty= date= author= grep= since= until= after= before= committer= max-count= skip= stat? textconv+ color? word-diff? diff-filter= relative? M? C? B? decorate? abbrev? inter-hunk-context= find-renames? submodule? not= glob= exclude= encoding= first-parent+ oneline+ graph+ all+ follow+ name-only+ name-status+"

var gitSubs = []program{
	{name: "status diff log show blame shortlog", does: gitDiff, args: "-", opts: gitDiffing},
	{name: "whatchanged reflog rev-parse ls-files ls-tree cat-file describe rev-list merge-base name-rev for-each-ref show-ref cherry annotate range-diff diff-tree diff-index diff-files var check-ignore check-attr count-objects fsck verify-commit verify-tag help version gui gitk instaweb", does: gitDiff, args: "-", opts: gitDiffing},
	{name: "add commit init tag branch notes gc prune pack-refs repack replace update-index update-ref symbolic-ref write-tree commit-tree hash-object maintenance rerere reflog", args: "-", does: gitRecord, opts: "F=< file=< m= message= t=< template=< pathspec-from-file=< c= C= author= date= fixup= squash= u= trailer= cleanup= S? gpg-sign? n+ dry-run+ d+ D+ delete+ separate-git-dir=w initial-branch= b= object-format= l? list? contains? merged? sort= format= points-at= f+ a+"},
	{name: "fetch", does: gitFetch, sets: []rule{netRepository}, opts: gitTransport + "depth= j= jobs= o= filter= refmap= negotiation-tip= shallow-since= shallow-exclude= dry-run+"},
	{name: "fetch-pack send-pack http-fetch http-push daemon", does: gitFetch, sets: []rule{netRepository}, opts: gitTransport},
	{name: "pull", does: gitFetch, sets: []rule{netRepository}, opts: gitTransport + "depth= s= strategy= X= strategy-option= j= jobs= rebase? dry-run+"},
	{name: "push", does: gitFetch, sets: []rule{netRepository}, opts: "receive-pack=! exec=! o= push-option= repo= force-with-lease? recurse-submodules= n+ dry-run+ d+ delete+"},
	{name: "clone", does: gitClone, opts: gitTransport + "b= branch= depth= o= origin= c= config= reference=< reference-if-able=< template=< separate-git-dir=w j= jobs= filter= shallow-since= recurse-submodules? bundle-uri= server-option="},
	{name: "ls-remote", does: gitRemoteOperand, opts: gitTransport + "o= server-option= sort="},
	{name: "archive", does: gitArchive, args: "-", opts: "o=o output=o remote= exec=! format= prefix= add-file=<"},
	{name: "remote", subs: []program{{name: "update", sets: []rule{netRepository}}, {name: "show", sets: []rule{netRepository}, opts: "n+"}, {name: "prune", sets: []rule{netRepository}}, {name: "*", args: "-"}}},
	{name: "submodule", does: gitSubmodule, opts: "b= reference=< name= depth= j="},
	{name: "lfs", subs: []program{{name: "pull fetch push clone", sets: []rule{netRepository}}, {name: "*", args: "-"}}},
	{name: "svn p4", sets: []rule{netRepository}},
	{name: "send-email", sets: []rule{netRepository}, opts: "smtp-server= to= cc= from= sendmail-cmd=! to-cmd=! cc-cmd=!"},
	{name: "request-pull credential-cache", sets: []rule{netRepository}},
	{name: "credential", does: gitCredential},
	{name: "clean", does: gitClean, args: "d", opts: "n+~ dry-run+~ e= exclude= f+ d+ x+ X+ q+ i+"},
	{name: "reset", does: gitReset, args: "-", opts: "hard+ merge+ keep+ soft+ mixed+ pathspec-from-file=<"},
	{name: "rm", does: gitRemove, args: "d", opts: "cached+ r+ f+ n+~ dry-run+~ q+ pathspec-from-file=<"},
	{name: "stash", does: gitStash, args: "-", opts: "m= message= u+ a+ k+ p+ S+ pathspec-from-file=<"},
	{name: "checkout", does: gitCheckout, args: "-", opts: "b= B= orphan= conflict= pathspec-from-file=< t? track? recurse-submodules? p+ f+ d+ detach+"},
	{name: "switch", does: gitSwitch, args: "-", opts: "c= C= create= force-create= orphan= conflict= t? d+"},
	{name: "restore", does: gitRestore, args: "-", opts: "s= source= staged+ S+ worktree+ W+ conflict= pathspec-from-file=<"},
	{name: "merge", sets: []rule{writeTree}, args: "-", does: gitSequence, opts: "m= F=< file=< s= strategy= X= strategy-option= into-name= S? gpg-sign? abort+ continue+ quit+ cleanup="},
	{name: "rebase", sets: []rule{writeTree}, args: "-", does: gitSequence, opts: "x= exec= onto= s= strategy= X= strategy-option= S? keep-base+ empty= C= whitespace="},
	{name: "cherry-pick revert", sets: []rule{writeTree}, args: "-", does: gitSequence, opts: "m= mainline= s= strategy= X= strategy-option= S? cleanup="},
	{name: "apply", does: gitApply, args: "r", opts: "check+ stat+ numstat+ summary+ cached+ apply+ directory= p= C= exclude= include= whitespace= build-fake-ancestor=>"},
	{name: "am", sets: []rule{writeTree}, args: "r", opts: "directory= p= C= exclude= include= whitespace= patch-format= S? exec="},
	{name: "mv", sets: []rule{writeTree}, args: "m$w", opts: "n+~ dry-run+~ f+ k+ v+"},
	{name: "worktree", subs: []program{
		{name: "add", sets: []rule{writeTree}, args: "w-", opts: "b= B= reason= orphan+ d+ f+"},
		{name: "remove", sets: []rule{deleteWork}, args: "d"},
		{name: "move", sets: []rule{writeTree}, args: "mw"},
		{name: "*", args: "-"},
	}},
	{name: "read-tree checkout-index", does: gitReadTree, opts: "prefix= u+ m+ a+ f+ index-output=>"},
	{name: "sparse-checkout", does: gitSparse},
	{name: "filter-branch filter-repo", sets: []rule{writeTree}, args: "-"},
	{name: "bisect", args: "-"},
	{name: "subtree", does: gitSubtree, opts: "P= prefix= m= squash+"},
	{name: "format-patch", does: gitFormatPatch, args: "-", opts: "o=w output-directory=w stdout+ n? N+ v= subject-prefix= start-number= to= cc= signature-file=< base= output=> cover-letter+ root+ 1+ 2+ 3+"},
	{name: "bundle", does: gitBundle, args: "-"},
	{name: "config", does: gitConfigCommand, style: exact, opts: "f= file= blob= type= default= get+ get-all+ get-regexp+ get-urlmatch+ l+ list+ unset+ unset-all+ add+ replace-all+ global+ system+ local+ worktree+ e+ edit+ rename-section+ remove-section+ value= comment= show-origin+ show-scope+ name-only+ includes+ z+ null+ bool+ int+ path+ get-color="},
	{name: "grep", does: gitGrep, args: "--", opts: "O?! open-files-in-pager?! e=, f=<, A= B= C= m= max-depth= threads= n+ no-index+"},
	{name: "difftool mergetool", args: "-", opts: "x=! extcmd=! t= tool= y+"},
}

// gitRunning are configuration keys whose value git runs, sorted. A * stands
// for one name in the middle.
var gitRunning = [...]string{
	"browser.*.cmd", "core.askpass", "core.editor", "core.fsmonitor", "core.gitproxy", "core.hookspath", "core.pager", "core.sshcommand",
	"credential.helper", "diff.*.command", "diff.*.textconv", "diff.external", "difftool.*.cmd", "difftool.*.path", "filter.*.clean", "filter.*.process",
	"filter.*.smudge", "gpg.*.program", "gpg.program", "gpg.ssh.defaultkeycommand", "init.templatedir", "interactive.difffilter", "man.*.cmd", "merge.*.driver",
	"mergetool.*.cmd", "mergetool.*.path", "pager.*", "remote.*.receivepack", "remote.*.uploadpack", "remote.*.vcs", "sendemail.smtpserver", "sequence.editor",
	"ssh.variant", "submodule.*.update", "trailer.*.cmd", "trailer.*.command", "uploadpack.packobjectshook", "web.browser",
}
