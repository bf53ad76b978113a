#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# initramfs.sh [debug|stock]: make the guest's initramfs: busybox, hackbench, cyclictest and stress-ng with their
# libraries, the lab's own load, the modules of that kernel build, the scripts of scripts/guest and the kselftests.
# Runs inside the toolchain.

. "$(dirname "$0")/lib.sh"

OUT=$BUILD/$ARCH${1:+-$1}
DIR=$OUT/initramfs

# library NAME: where it is, in the guests' root or with the cross compiler.
library() { find -L "$GUEST_ROOT/usr/lib/$TRIPLE" "/usr/$TRIPLE/lib" -maxdepth 1 -name "$1" 2>/dev/null | head -n 1; }

# add_libs FILE: copy the libraries that a program or library needs; it may be of another architecture than this machine.
add_libs() {
	local lib
	for lib in $(llvm-readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		[ ! -e "$DIR/lib/$lib" ] || continue
		install "$(library "$lib")" "$DIR/lib/"
		add_libs "$DIR/lib/$lib"
	done
}

# with_libs PROGRAM...: copy programs and the libraries that they need.
with_libs() {
	local program loader
	for program; do
		install "$GUEST_ROOT/usr/bin/$program" "$DIR/bin/"
		add_libs "$DIR/bin/$program"
		loader=$(llvm-readelf -lW "$DIR/bin/$program" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
		[ -z "$loader" ] || install -D "$(library "${loader##*/}")" "$DIR$loader"
	done
}

rm -rf "$DIR"
mkdir -p "$DIR"/{bin,dev,proc,sys,tmp,run,lib/corefold,selftests}
with_libs busybox hackbench cyclictest
[ -n "$GUEST_ROOT" ] || with_libs stress-ng
ln -s busybox "$DIR/bin/sh"
clang --target="$TRIPLE" -fuse-ld=lld -O2 -Wall -Werror -static -o "$DIR/bin/corefold-work" "$TOP/tools/lab/guest/work.c"
install "$TOP/scripts/guest/init" "$DIR/init"
find "$TOP/scripts/guest" -type f ! -name init -exec install -t "$DIR/run" {} +
[ ! -e "$OUT/modules.order" ] || sed 's/\.o$/.ko/' "$OUT/modules.order" | while read -r module; do
	install -m 644 "$OUT/$module" "$DIR/lib/corefold/"
	llvm-strip --strip-debug "$DIR/lib/corefold/${module##*/}"
done
[ ! -d "$BUILD/selftests-$ARCH" ] || cp -r "$BUILD/selftests-$ARCH/." "$DIR/selftests/"
(cd "$DIR" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0 | gzip -1) >"$OUT/initramfs.cpio.gz"
