#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# lint.sh [CHECK...]: everything that reads the sources without running them; without names, all of it.

. "$(dirname "$0")/lib.sh"

CHECKS=(rustfmt cargo-fmt kernel-build cargo-clippy checkpatch-patches checkpatch-files spelling kernel-doc shellcheck tags reuse)
WORK=$BUILD/lint
PASSED=0 FAILED=()

in_toolchain() { "$TOP/scripts/in-toolchain" "$@"; }
# in_tree COMMAND...: in the assembled tree, in the toolchain.
in_tree() { in_toolchain sh -c 'cd build/linux-7.3.y && exec "$@"' sh "$@"; }

# The files of the project: what git knows or would add; without git, all but the build's.
sources() {
	cd "$TOP"
	git ls-files -co --exclude-standard 2>/dev/null ||
		find . \( -name build -o -name target \) -prune -o -type f -print | sed 's|^\./||'
}
# Those of them that lie in the kernel tree, by their suffixes.
kernel_sources() {
	local suffixes=$1 dirs
	dirs=$(IFS='|'; printf '%s' "${OVERLAY[*]}")
	sources | { grep -E "^($dirs)/.*($suffixes)\$" || true; } | while read -r file; do
		[ ! -e "$TOP/$file" ] || printf '%s\n' "$file"
	done
}
patched() { sed -n "s|^+++ b/\([^\t]*$1\)\(\t.*\)\?\$|\1|p" "$PATCHES"/*.patch 2>/dev/null | sort -u || true; }

# check NAME: run it, keep its output in a log, and show the log if it fails.
check() {
	local name=$1 log=$LOGS/lint-$1.log start=$SECONDS
	printf '  %-20s ' "$name" >&2
	# A subshell of its own, so that errexit holds in it.
	set +e
	(set -e; "check_${name//-/_}") >"$log" 2>&1 </dev/null
	local status=$?
	set -e
	if [ $status = 0 ]; then
		PASSED=$((PASSED + 1))
		say "ok ($((SECONDS - start)) s)"
	else
		FAILED+=("$name")
		say "FAILED ($((SECONDS - start)) s, log: ${log#"$TOP"/})"
		tail -n 30 "$log" | sed 's/^/    /' >&2
	fi
}

check_rustfmt() {
	{ kernel_sources '\.rs'; patched '\.rs'; } | sort -u |
		in_tree_xargs rustfmt --check --color never --config-path .rustfmt.toml --edition 2021
}

# in_tree_xargs COMMAND...: with the files on standard input as further arguments.
in_tree_xargs() {
	local files
	mapfile -t files
	[ ${#files[@]} = 0 ] || in_tree "$@" "${files[@]}"
}

CARGO=(--manifest-path "$TOP/tools/Cargo.toml")
check_cargo_fmt() { cargo fmt --all --check "${CARGO[@]}" -- --color never; }
check_cargo_clippy() {
	cargo clippy --locked --workspace --all-targets "${CARGO[@]}" --target-dir "$BUILD/tools" -- -D warnings
}

# The nearest directory of the tree above a file that has a Makefile.
makefile_dir() {
	local dir
	dir=$(dirname "$1")
	while [ ! -e "$TREE/$dir/Makefile" ]; do dir=$(dirname "$dir"); done
	printf '%s\n' "$dir"
}

# clippy for the Rust, W=1 for the C, in an output directory of its own. What is ours is compiled anew, for
# its warnings are what counts.
check_kernel_build() {
	local out=$BUILD/$ARCH-lint targets=() file warnings log=$LOGS/kernel-lint.log
	for file in $(kernel_sources '\.(c|rs)'); do
		rm -f "$out/${file%.*}.o"
		case $file in
		kernel/*.c) targets+=("${file%.c}.o") ;;
		drivers/* | samples/*) targets+=("$(makefile_dir "$file")/") ;;
		esac
	done
	rm -f "$out/rust/kernel.o"
	mapfile -t targets < <(printf '%s\n' prepare "${targets[@]}" | sort -u)
	"$TOP/scripts/kernel.sh" lint CLIPPY=1 W=1 "${targets[@]}"
	warnings=$({ kernel_sources '\.(c|h|rs)'; patched '\.rs'; } | sort -u |
		grep -F -f - "$log" | grep -E 'warning:|error:|^ *--> ' || true)
	[ -z "$warnings" ] || { printf '%s\n' "$warnings"; return 1; }
}

# checkpatch ARGUMENT...: nothing here carries a sign-off, which is for whoever sends it on.
# An argument that a macro does not use is one that its variant for another configuration does.
checkpatch() {
	in_tree perl scripts/checkpatch.pl --strict --ignore MACRO_ARG_UNUSED --show-types --no-signoff --no-summary --quiet --color=never "$@"
}

check_checkpatch_patches() {
	local name
	mapfile -t names < <(patch_names)
	[ ${#names[@]} = 0 ] || checkpatch --patch "${names[@]/#/..\/..\/patches\/7.3\/}"
}

check_checkpatch_files() {
	mapfile -t files < <(kernel_sources '(\.(c|h|rs|rst|config)|Kconfig.*|Makefile|/debugfs-[^/]*|/sysfs-[^/]*)')
	local file ordinary=() trace=() status=0
	for file in "${files[@]}"; do
		case $file in
		include/trace/*) trace+=("$file") ;;
		*) ordinary+=("$file") ;;
		esac
	done
	[ ${#ordinary[@]} = 0 ] || checkpatch -f "${ordinary[@]}" || status=1
	# Throughout the kernel, the macros of trace events are opened at the end of a line.
	[ ${#trace[@]} = 0 ] || checkpatch --ignore OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT -f "${trace[@]}" || status=1
	return $status
}

# Not by checkpatch, which takes seconds a file for it.
check_spelling() {
	mapfile -t files < <(sources | grep -vE '^LICENSES/|\.(lock|svg|png)$')
	in_toolchain codespell "${files[@]}"
}

check_kernel_doc() {
	kernel_sources '\.(c|h)' | in_tree_xargs scripts/kernel-doc -none -Wall -Werror
}

check_shellcheck() {
	local scripts
	mapfile -t scripts < <(sources | while read -r file; do
		! head -n 1 "$file" 2>/dev/null | grep -qE '^#!.*\b(ba|da|)sh\b|shellcheck shell=' &&
			[[ $file != *.sh ]] || printf '%s\n' "$file"
	done)
	in_toolchain shellcheck --severity=warning --color=never "${scripts[@]}"
}

# Each file that can carry an SPDX tag does.
check_tags() {
	local missing
	missing=$(sources | grep -vE '^(LICENSES|Documentation/ABI)/|/settings$|\.(md|json|svg|png|lock|patch|csv|proptest-regressions)$|^MAINTAINERS$' |
		xargs -r grep -L 'SPDX-License-Identifier: GPL-2.0' || true)
	[ -z "$missing" ] || { printf 'no SPDX tag: %s\n' "$missing"; return 1; }
}

# On a copy, for the checkout's git directory may lie outside of what the toolchain root sees.
check_reuse() {
	rm -rf "$WORK/tree"
	mkdir -p "$WORK/tree"
	sources | rsync -a --files-from=- --ignore-missing-args "$TOP/" "$WORK/tree/"
	in_toolchain reuse --root build/lint/tree lint
}

need rsync rsync
mkdir -p "$LOGS" "$WORK"
[ -e "$TREE/.assembled" ] || die "there is no assembled tree yet: run 'make tree'"
[ $# != 0 ] || set -- "${CHECKS[@]}"
for name; do
	[[ " ${CHECKS[*]} " == *" $name "* ]] || die "no such check: $name (there are: ${CHECKS[*]})"
	check "$name"
done
say "lint: $PASSED passed, ${#FAILED[@]} failed${FAILED:+: ${FAILED[*]}}"
[ ${#FAILED[@]} = 0 ]
