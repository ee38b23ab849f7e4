#compdef @SBX@
# Completion of @SBX@ for zsh: source <(@SBX@ completion zsh), after compinit, or as
# the file _@SBX@ in a directory of $fpath.
_sbx_complete() {
	local -a replies candidates
	local reply offer=
	replies=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	for reply in "${replies[@]}"; do
		case $reply in
		:*) offer=${reply#:} ;;
		?*) candidates+=("$reply") ;;
		esac
	done
	(( ${#candidates} )) && compadd -Q -- "${candidates[@]}"
	case $offer in
	files)
		compset -P '--*='
		_files
		;;
	dirs)
		compset -P '--*='
		_files -/
		;;
	commands)
		_command_names -e
		_files
		;;
	esac
}
if [[ ${zsh_eval_context[-1]-} == loadautofunc ]]; then
	_sbx_complete "$@"
else
	compdef _sbx_complete @SBX@
fi
