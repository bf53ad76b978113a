#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# Assemble the kernel tree: pristine source + patch queue + overlay. A file is written only if its
# content changes, so that a rebuild does no more than it must.

. "$(dirname "$0")/lib.sh"

PATCHES=$TOP/patches/7.3
# What of this repository lies at the same place in the kernel tree.
OVERLAY=(Documentation drivers include kernel rust samples tools/testing)
STAGE=$BUILD/stage

# The pristine source: KSRC, or Debian's, unpacked once for all checkouts.
pristine() {
	if [ -n "${KSRC:-}" ]; then
		grep -qs '^VERSION = 7$' "$KSRC/Makefile" && grep -q '^PATCHLEVEL = 3$' "$KSRC/Makefile" ||
			die "KSRC=$KSRC is no Linux 7.3 tree"
		printf '%s\n' "$KSRC"
		return
	fi
	local root='' tar
	[ "$TOOLCHAIN" = host ] || root=$(toolchain_root)
	tar=$root/usr/src/linux-source-7.3.tar.xz
	[ -e "$tar" ] || die "no kernel source: install linux-source-7.3 (trixie-backports), or name a tree with KSRC="
	local dir
	dir=$CACHE/linux-7.3-$(stat -c %s-%Y "$tar")
	[ -e "$dir/Makefile" ] || logged unpack "Unpacking $(basename "$tar")" unpack "$tar" "$dir"
	printf '%s\n' "$dir"
}

unpack() {
	rm -rf "$2.partial"
	mkdir -p "$2.partial"
	tar -xf "$1" -C "$2.partial" --strip-components=1
	mv "$2.partial" "$2"
}

patch_names() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$PATCHES/series" 2>/dev/null || true; }
patched_files() { patch_names | sed "s|^|$PATCHES/|" | xargs -r sed -n 's|^+++ b/\([^\t]*\).*|\1|p' | sort -u; }
overlay_files() { (cd "$TOP" && find "${OVERLAY[@]}" -type f 2>/dev/null | sort) || true; }

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

need rsync rsync
need patch patch
PRISTINE=$(pristine)
if [ "$(cat "$TREE/.pristine" 2>/dev/null)" != "$PRISTINE" ]; then
	rm -rf "$TREE"
	mkdir -p "$BUILD"
	logged tree "Copying the kernel source" cp -a --reflink=auto "$PRISTINE" "$TREE"
	printf '%s\n' "$PRISTINE" >"$TREE/.pristine"
fi
stage
# What an earlier assembly wrote and this one does not, goes back to pristine.
(cd "$STAGE" && find . -type f | sort) >"$BUILD/stage.files"
if [ -e "$TREE/.assembled" ]; then
	comm -23 "$TREE/.assembled" "$BUILD/stage.files" | while read -r file; do
		rm -f "$TREE/$file"
		[ ! -e "$PRISTINE/$file" ] || cp "$PRISTINE/$file" "$TREE/$file"
	done
fi
rsync -rlpc "$STAGE/" "$TREE/"
mv "$BUILD/stage.files" "$TREE/.assembled"
