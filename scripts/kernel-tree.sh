#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# kernel-tree.sh [discard|stock]: assemble the kernel tree: pristine source + patch queue + overlay. A file is
# written only if its content changes, so that a rebuild does no more than it must. Edits made in the tree
# since the last assembly stop it, unless they are to be discarded. With stock: only make build/linux-stock, the
# source as it came, to compare with.

. "$(dirname "$0")/lib.sh"

STAGE=$BUILD/stage

# A source of someone's own that the tree was assembled from: it holds until another is named.
own_source() {
	local source
	source=$(cat "$TREE/.pristine" 2>/dev/null) || return 0
	[[ $source == */corefold/linux-7.3-* ]] || [ ! -e "$source/Makefile" ] || printf '%s\n' "$source"
}

# The pristine source: KSRC, now or before, or Debian's, unpacked once for all checkouts.
pristine() {
	local source
	source=${KSRC:-$(own_source)}
	if [ -n "$source" ]; then
		grep -qs '^VERSION = 7$' "$source/Makefile" && grep -q '^PATCHLEVEL = 3$' "$source/Makefile" ||
			die "KSRC=$source is no Linux 7.3 tree"
		[ -n "${KSRC:-}" ] || say "  The source is $source, as before (remove build/linux-7.3.y to return to Debian's)"
		realpath "$source"
		return
	fi
	local root='' tar
	[ "$TOOLCHAIN" = host ] || root=$(toolchain_root)
	tar=$root/usr/src/linux-source-7.3.tar.xz
	[ -e "$tar" ] || die "no kernel source: install linux-source-7.3 (trixie-backports), or name a tree with KSRC="
	local dir
	dir=$CACHE/linux-7.3-$(stat -c %s-%Y "$tar")
	if [ ! -e "$dir/Makefile" ]; then
		need xz xz-utils
		logged unpack "Unpacking $(basename "$tar")" unpack "$tar" "$dir"
	fi
	printf '%s\n' "$dir"
}

unpack() {
	rm -rf "$2.partial"
	mkdir -p "$2.partial"
	tar -xf "$1" -C "$2.partial" --strip-components=1
	mv "$2.partial" "$2"
}

# Without what a build of the module alone (KDIR=) leaves behind.
overlay_files() {
	(cd "$TOP" && find "${OVERLAY[@]}" -type f 2>/dev/null |
		grep -vE '\.(o|ko|mod|mod\.c|order|symvers)$|/\.[^/]*\.(cmd|d)$' | sort) || true
}

# Pristine copies of the files that the queue edits, edited.
stage() {
	local name
	rm -rf "$STAGE"
	mkdir -p "$STAGE"
	patched_files | rsync -a --files-from=- --ignore-missing-args "$PRISTINE/" "$STAGE/"
	for name in $(patch_names); do
		patch -d "$STAGE" -p1 -F0 --no-backup-if-mismatch -s <"$PATCHES/$name" >&2 ||
			die "the patch patches/7.3/$name does not apply to $PRISTINE"
	done
	overlay_files | rsync -a --files-from=- "$TOP/" "$STAGE/"
}

# Files that this assembly would overwrite and that hold neither what the last one wrote nor what this one will.
unsaved() {
	local file
	{
		edited_assembled
		comm -13 <(assembled_files | sort) "$BUILD/stage.files" | while read -r file; do
			[ ! -e "$TREE/$file" ] || cmp -s "$TREE/$file" "$PRISTINE/$file" || printf '%s\n' "$file"
		done
	} | while read -r file; do
		[ -e "$TREE/$file" ] || [ -e "$STAGE/$file" ] || continue
		cmp -s "$TREE/$file" "$STAGE/$file" || printf '%s\n' "$file"
	done
}

# stop_for FILES: they hold edits that would be lost.
stop_for() {
	[ -n "$1" ] || return 0
	printf '%s\n' "$1" | sed 's/^/  /' >&2
	die "these files of ${TREE#"$TOP"/} have unsaved edits: 'make refresh' saves them, 'make discard' drops them"
}

# Put a file of the tree back to what the source has.
restore() {
	rm -f "$TREE/$1"
	[ ! -e "$PRISTINE/$1" ] || cp "$PRISTINE/$1" "$TREE/$1"
}

# The marker lies outside, so that the tree is nothing but the source.
stock() {
	[ "$(cat "$BUILD/linux-stock.pristine" 2>/dev/null)" != "$PRISTINE" ] || return 0
	rm -rf "$BUILD/linux-stock"
	mkdir -p "$BUILD"
	logged tree-stock "Copying the stock kernel source" cp -a --reflink=auto "$PRISTINE" "$BUILD/linux-stock"
	printf '%s\n' "$PRISTINE" >"$BUILD/linux-stock.pristine"
}

need rsync rsync
need patch patch
PRISTINE=$(pristine)
if [ "${1:-}" = stock ]; then
	stock
	exit
fi
DISCARD=${1:-}
if [ "$(cat "$TREE/.pristine" 2>/dev/null)" != "$PRISTINE" ]; then
	[ -n "$DISCARD" ] || stop_for "$(edited_files)"
	rm -rf "$TREE"
	mkdir -p "$BUILD"
	logged tree "Copying the kernel source" cp -a --reflink=auto "$PRISTINE" "$TREE"
	printf '%s\n' "$PRISTINE" >"$TREE/.pristine"
fi
stage
(cd "$STAGE" && find . -type f | sed 's|^\./||' | sort) >"$BUILD/stage.files"
if [ -n "$DISCARD" ]; then
	edited_files | while read -r file; do
		say "  discarding the edits of $file"
		restore "$file"
	done
else
	stop_for "$(unsaved)"
fi
# What an earlier assembly wrote and this one does not, goes back to pristine.
comm -23 <(assembled_files | sort) "$BUILD/stage.files" | while read -r file; do restore "$file"; done
rsync -rlpc "$STAGE/" "$TREE/"
(cd "$STAGE" && find . -type f -print0 | sort -z | xargs -0 -r sha256sum) >"$TREE/.assembled.new"
mv "$TREE/.assembled.new" "$TREE/.assembled"
