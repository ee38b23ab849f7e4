package classify

// editors in batch mode, sorted by name. Sources: vim(1), ed(1), ex(1),
// emacs(1), the command-line reference of VS Code.
var editors = []program{
	{name: "code", args: "-", opts: "install-extension=n d+ diff+"},
	{name: "ed", does: edCommand, args: "r", opts: "s+ p= prompt= quiet+ silent+ E+ r+ G+ v+"},
	{name: "emacs", does: emacsCommand, style: exact, args: "r", opts: "eval=c execute=c l=! load=! f= funcall= script=, batch+ Q+ q+ nw+ no-window-system+ t= d= L= directory= insert=< visit=< chdir="},
	{name: "emacsclient", args: "r", opts: "e+c eval=c s= f= c+ t+ n+ a=! alternate-editor=!"},
	{name: "ex", like: "vim"},
	{name: "gvim", like: "vim"},
	{name: "hx", args: "r"},
	{name: "jed", args: "r"},
	{name: "joe", args: "r"},
	{name: "kak", args: "r", opts: "e=c E=c f=c n+ q+ ui="},
	{name: "micro", args: "r"},
	{name: "nano", args: "r", opts: "s=! speller=! o= r= T= C= Q="},
	{name: "nvim", like: "vim"},
	{name: "pico", like: "nano"},
	{name: "red", like: "ed"},
	{name: "vi", like: "vim"},
	{name: "view", like: "vim"},
	{name: "vim", does: vimCommand, args: "r", opts: "c= cmd= S=< s+ w=> W=> u=< U=< i=< t= T= q? r? V? o? O? p? e+ E+ n+ N+ R+ Z+ headless+ clean+ not-a-term+ startuptime=> l= server= remote=", style: exact},
	{name: "vimdiff", like: "vim"},
}
