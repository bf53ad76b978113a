#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# modules.sh KDIR: build the modules alone, against a build tree of a patched kernel: one below this directory in the
# toolchain, any other with the machine's own compilers.

. "$(dirname "$0")/lib.sh"

KDIR=$(realpath -m "$1")
[ -e "$KDIR/.config" ] || die "KDIR=$1 is no build tree of a kernel: it has no .config"
LLVM=()
! grep -q '^CONFIG_CC_IS_CLANG=y' "$KDIR/.config" || LLVM=(LLVM=1)

if [[ $KDIR == "$TOP"/* ]]; then
	exec "$TOP/scripts/in-toolchain" sh -c 'exec make -C "$1" M="$PWD" modules $2' sh "${KDIR#"$TOP"/}" "${LLVM[*]}"
fi
exec make -C "$KDIR" M="$TOP" modules "${LLVM[@]}"
