#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# refresh.sh: bring the edits made in the assembled tree back into this repository: files of the overlay are copied,
# edits of existing kernel files are folded into the patch queue with quilt. PATCH= names the patch that takes them; without it,
# the last patch that touches the file does. All is tried on a copy first: on a conflict nothing changes.

. "$(dirname "$0")/lib.sh"

WORK=$BUILD/refresh
PRISTINE=$(cat "$TREE/.pristine" 2>/dev/null) || die "there is no assembled tree yet: run 'make tree'"
PATCH=${PATCH:-}
PATCH=${PATCH:+${PATCH%.patch}.patch}

# A conflict: say so; nothing has been written outside build/refresh.
conflict() { die "$*; nothing was changed"; }

# quilt ARGUMENT...: in the working copy, without anyone's settings.
quilt() {
	"$TOP/scripts/in-toolchain" env QUILT_PATCHES=patches QUILT_DIFF_OPTS=--show-c-function \
		sh -c 'cd build/refresh && exec quilt --quiltrc=- "$@"' sh "$@"
}

checksum() { sha256sum <"$1" | cut -d ' ' -f 1; }
# recorded FILE: the checksum of what the last assembly wrote there; nothing if it wrote nothing.
recorded() { sed -n "s|^\([0-9a-f]*\)  \./$1\$|\1|p" "$TREE/.assembled"; }
touches() { grep -qE "^(---|\+\+\+) [^/]*/$2(\s|\$)" "$WORK/patches/$1"; }
in_series() { patch_names_of_work | grep -qxF "$1"; }
patch_names_of_work() { PATCHES=$WORK/patches patch_names; }

in_overlay() {
	local dir
	for dir in "${OVERLAY[@]}"; do
		[[ $1 != "$dir"/* ]] || return 0
	done
	return 1
}

# Sort the edited files into those of the overlay and those of the queue, and refuse what cannot be saved.
classify() {
	local file
	for file; do
		if [ -e "$TOP/$file" ] || [ ! -e "$PRISTINE/$file" ]; then
			check_overlay "$file"
			OWN+=("$file")
		else
			[ -e "$TREE/$file" ] || conflict "$file was deleted in the tree: only edits of kernel files can be saved"
			QUEUED+=("$file")
		fi
	done
}

check_overlay() {
	local old
	old=$(recorded "$1")
	in_overlay "$1" ||
		conflict "the new file $1 lies outside of the overlay (${OVERLAY[*]}): move it, or remove it"
	if [ -n "$old" ] && [ ! -e "$TOP/$1" ]; then
		conflict "$1 was edited in the tree and removed here"
	fi
	[ -e "$TOP/$1" ] || return 0
	cmp -s "$TOP/$1" "$TREE/$1" || [ "$(checksum "$TOP/$1")" = "$old" ] ||
		conflict "$1 was edited both here and in the tree: make them equal, or drop one"
}

# A copy of the queue, applied to pristine copies of all files in question.
prepare() {
	rm -rf "$WORK"
	mkdir -p "$WORK/edits"
	cp -r "$PATCHES" "$WORK/patches"
	{
		patched_files
		printf '%s\n' "${QUEUED[@]}"
	} | sort -u | rsync -a --files-from=- --ignore-missing-args "$PRISTINE/" "$WORK/"
	[ -z "$(patch_names)" ] || quilt push -a -q --fuzz=0 >"$LOGS/refresh.log" 2>&1 ||
		conflict "the patch queue does not apply as it is, see ${LOGS#"$TOP"/}/refresh.log"
}

# What was edited, as a diff against what the queue makes of it.
extract() {
	local file=$1 old
	old=$(recorded "$file")
	[ "$(checksum "$WORK/$file")" = "${old:-$(checksum "$PRISTINE/$file")}" ] ||
		conflict "the patches of $file have changed since the tree was assembled: copy it aside, 'make discard', and edit anew"
	mkdir -p "$WORK/edits/$(dirname "$file")"
	diff -u --label "a/$file" --label "b/$file" "$WORK/$file" "$TREE/$file" >"$WORK/edits/$file" || true
}

# The patch that takes a file's edits.
target() {
	local name
	if [ -n "$PATCH" ]; then
		printf '%s\n' "$PATCH"
		return
	fi
	name=$(patch_names | while read -r name; do ! touches "$name" "$1" || printf '%s\n' "$name"; done | tail -n 1)
	[ -n "$name" ] || conflict "no patch touches $1 yet: name one, make refresh PATCH=NNNN-some-name"
	printf '%s\n' "$name"
}

# Make a patch the topmost of the applied ones; a new one takes its place by its number.
go_to() {
	local before
	if in_series "$1"; then
		[ "$(quilt top)" = "$1" ] || quilt pop -q "$1" || quilt push -q --fuzz=0 "$1"
		return
	fi
	[[ $1 =~ ^[0-9]{4}-[a-z0-9-]+\.patch$ ]] || conflict "PATCH=$1 is no name of a patch: NNNN-some-name is"
	before=$(patch_names_of_work | awk -v new="$1" '$0 < new' | tail -n 1)
	if [ -n "$before" ]; then
		[ "$(quilt top)" = "$before" ] || quilt pop -q "$before"
	else
		[ -z "$(patch_names_of_work)" ] || quilt pop -q -a
	fi
	quilt new "$1"
	say "  $1 is new: give it a changelog"
}

# renew PATCH: the topmost; what has a diffstat keeps one.
renew() {
	local options=(-p ab --no-timestamps --no-index)
	! grep -qsE '^ [0-9]+ files? changed' "$WORK/patches/$1" || options+=(--diffstat)
	quilt refresh "${options[@]}"
}

# later PATCH FILE...: the patches after it that touch one of these files.
later() {
	local name=$1 file
	shift
	patch_names_of_work | sed "1,/^$name\$/d" | while read -r name; do
		for file; do
			! touches "$name" "$file" || { printf '%s\n' "$name"; break; }
		done
	done
}

# fold PATCH FILE...: put the edits of these files into it, and renew the later patches of the same files.
fold() {
	local name=$1 file
	shift
	go_to "$name"
	for file; do
		touches "$name" "$file" 2>/dev/null || quilt add "$file"
		patch -d "$WORK" -p1 -F0 --no-backup-if-mismatch -s <"$WORK/edits/$file" >&2 ||
			conflict "the edits of $file do not apply at $name: name a later patch with PATCH="
	done
	renew "$name"
	for name in $(later "$name" "$@"); do
		quilt push -q --fuzz=0 "$name" || conflict "$name does not apply on top of the edits"
		renew "$name"
	done
	[ -z "$(quilt unapplied 2>/dev/null)" ] || quilt push -q -a --fuzz=0
}

fold_all() {
	local file name
	declare -A groups=()
	for file in "${QUEUED[@]}"; do
		extract "$file"
	done
	for file in "${QUEUED[@]}"; do
		name=$(target "$file")
		groups[$name]+=" $file"
	done
	for name in "${!groups[@]}"; do
		say "  into $name:${groups[$name]}"
		# shellcheck disable=SC2086 # A list of files; none has a blank in its name.
		fold "$name" ${groups[$name]} >>"$LOGS/refresh.log"
	done
	for file in "${QUEUED[@]}"; do
		cmp -s "$WORK/$file" "$TREE/$file" || conflict "the queue would not give the $file of the tree"
	done
}

install_all() {
	local file
	for file in "${OWN[@]}"; do
		if [ -e "$TREE/$file" ]; then
			say "  overlay: $file"
			mkdir -p "$(dirname "$TOP/$file")"
			cp --preserve=mode "$TREE/$file" "$TOP/$file"
		else
			say "  overlay: $file (removed)"
			rm -f "$TOP/$file"
		fi
	done
	[ ${#QUEUED[@]} = 0 ] || rsync -rc --include='*.patch' --include=series --exclude='*' "$WORK/patches/" "$PATCHES/"
}

need rsync rsync
need patch patch
[ "$TOOLCHAIN" != host ] || need quilt quilt
mkdir -p "$LOGS"
OWN=() QUEUED=()
mapfile -t EDITED < <(edited_files)
if [ ${#EDITED[@]} = 0 ]; then
	say "no edits in ${TREE#"$TOP"/}"
	exit 0
fi
classify "${EDITED[@]}"
if [ ${#QUEUED[@]} != 0 ]; then
	prepare
	fold_all
fi
install_all
"$TOP/scripts/kernel-tree.sh"
