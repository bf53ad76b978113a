#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# initramfs.sh [debug|stock]: make the guest's initramfs: busybox, hackbench, cyclictest and stress-ng with their
# libraries, the lab's own load, the modules of that kernel build, the scripts of scripts/guest and the kselftests.
# Runs inside the toolchain.

. "$(dirname "$0")/lib.sh"

OUT=$BUILD/$ARCH${1:+-$1}
DIR=$OUT/initramfs

# with_libs PROGRAM...: copy programs and the libraries that they need.
with_libs() {
	local program
	for program; do
		install -D "$program" "$DIR/bin/$(basename "$program")"
		{ ldd "$program" 2>/dev/null || true; } | { grep -o '/[^ )]*' || true; } | while read -r lib; do
			[ -e "$DIR$lib" ] || install -D "$(readlink -f "$lib")" "$DIR$lib"
		done
	done
}

rm -rf "$DIR"
mkdir -p "$DIR"/{bin,dev,proc,sys,tmp,run,lib/corefold,selftests}
with_libs /usr/bin/busybox "$(command -v hackbench)" "$(command -v cyclictest)" "$(command -v stress-ng)"
ln -s busybox "$DIR/bin/sh"
clang -O2 -Wall -Werror -static -o "$DIR/bin/corefold-work" "$TOP/tools/lab/guest/work.c"
install "$TOP/scripts/guest/init" "$DIR/init"
find "$TOP/scripts/guest" -type f ! -name init -exec install -t "$DIR/run" {} +
[ ! -e "$OUT/modules.order" ] || sed 's/\.o$/.ko/' "$OUT/modules.order" | while read -r module; do
	install -m 644 "$OUT/$module" "$DIR/lib/corefold/"
	llvm-strip --strip-debug "$DIR/lib/corefold/${module##*/}"
done
[ ! -d "$BUILD/selftests-$ARCH" ] || cp -r "$BUILD/selftests-$ARCH/." "$DIR/selftests/"
(cd "$DIR" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0 | gzip -1) >"$OUT/initramfs.cpio.gz"
