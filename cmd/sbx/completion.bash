# Completion of @SBX@ for bash 4 and newer: source <(@SBX@ completion bash)
_sbx_complete() {
	local line=${COMP_LINE:0:COMP_POINT} cur reply offer='' cut i
	local -a words
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	cur=${words[-1]}
	COMPREPLY=()
	while IFS= read -r reply; do
		case $reply in
		:*) offer=${reply#:} ;;
		*) COMPREPLY+=("$reply") ;;
		esac
	done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
	# Of --flag=PATH the path is completed.
	[[ $cur == --*=* ]] && [[ -n $offer ]] && cur=${cur#*=}
	case $offer in
	files) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$cur") ;;
	dirs) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$cur") ;;
	commands) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur") ;;
	esac
	[[ -n $offer ]] && compopt -o filenames 2>/dev/null
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null
	# bash has split the word at these itself.
	if [[ $cur == *[:=]* && -z $offer ]]; then
		cut=${cur%"${cur##*[:=]}"}
		for i in "${!COMPREPLY[@]}"; do
			COMPREPLY[i]=${COMPREPLY[i]#"$cut"}
		done
	fi
	return 0
}
complete -F _sbx_complete @SBX@
