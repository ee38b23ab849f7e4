#!/usr/bin/env bash
# install.sh BUILT PREFIX NAME    copies what was built to BUILT, below PREFIX
# install.sh --remove PREFIX NAME takes it away
# The program is PREFIX/bin/NAME: another name is for who has another sbx. With any
# name, NAME-exec is the wrapper. Its helpers lie in PREFIX/libexec/sbx.
set -euo pipefail

remove() {
	local prefix=$1 name=$2 page
	rm -f "$prefix/bin/$name" "$prefix/bin/$name-exec"
	rm -f "$prefix/share/bash-completion/completions/$name" "$prefix/share/zsh/site-functions/_$name" "$prefix/share/fish/vendor_completions.d/$name.fish"
	for page in "$prefix/share/man/man1/$name.1.gz" "$prefix/share/man/man1/$name"-*.1.gz; do
		rm -f "$page"
	done
	# Another name may have been installed beside this one.
	for page in "$prefix"/bin/*-exec; do
		if [ -L "$page" ] && [ -d "$prefix/libexec/sbx" ]; then return; fi
	done
	rm -rf "$prefix/libexec/sbx"
	rmdir "$prefix/libexec" 2>/dev/null || true
}

# A name that ends in -exec would make the program a wrapper (cmd/sbx/wrapper.go).
check() {
	case $1 in
	'' | -* | .* | *-exec | *[!A-Za-z0-9._-]*)
		echo "NAME=$1: a name is made of letters, digits, dots, dashes and underscores, and does not end in -exec; nothing was done" >&2
		exit 2
		;;
	esac
}
check "${3-}"

if [ "${1-}" = --remove ]; then
	remove "$2" "$3"
	exit
fi

built=$1 prefix=$2 name=$3
sbx=$built/sbx
if [ -n "${RUN:-}" ]; then sbx=$RUN; fi # of this machine, where it was built for another one

install -d -m 755 "$prefix/bin" "$prefix/libexec/sbx" "$prefix/share/man/man1" \
	"$prefix/share/bash-completion/completions" "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
install -m 755 "$built/sbx" "$prefix/bin/$name"
ln -sf "$name" "$prefix/bin/$name-exec"
for helper in $HELPERS; do
	install -m 755 "$built/$helper" "$prefix/libexec/sbx/$helper"
done
"$sbx" completion bash --name "$name" >"$prefix/share/bash-completion/completions/$name"
"$sbx" completion zsh --name "$name" >"$prefix/share/zsh/site-functions/_$name"
"$sbx" completion fish --name "$name" >"$prefix/share/fish/vendor_completions.d/$name.fish"
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$sbx" __man "$pages" "$name"
for page in "$pages"/*.1; do
	gzip -9n <"$page" >"$prefix/share/man/man1/${page##*/}.gz"
done
find "$prefix/share/bash-completion/completions/$name" "$prefix/share/zsh/site-functions/_$name" \
	"$prefix/share/fish/vendor_completions.d/$name.fish" "$prefix/share/man/man1/$name.1.gz" "$prefix/share/man/man1/$name"-*.1.gz -exec chmod 644 {} +
