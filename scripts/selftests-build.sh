#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# selftests-build.sh [debug|stock]: build the kselftests of tools/testing/selftests/corefold statically, and the initramfs
# of that kernel with them in it.

. "$(dirname "$0")/lib.sh"

TESTS=build/linux-7.3.y/tools/testing/selftests
OUT=build/kselftest-$ARCH
INSTALL=build/selftests-$ARCH
IN=$TOP/scripts/in-toolchain

build() {
	rm -rf "${TOP:?}/$INSTALL"
	mkdir -p "$TOP/$INSTALL/kselftest" "$TOP/$OUT"
	"$IN" make -C "$TESTS/corefold" LLVM=1 ARCH="$ARCH" OUTPUT="../../../../../../$OUT" INSTALL_PATH="../../../../../../$INSTALL/corefold" \
		USERLDFLAGS="-static -fuse-ld=lld" USERCFLAGS=-Werror install
	cp "$TOP/$TESTS/kselftest/ktap_helpers.sh" "$TOP/$INSTALL/kselftest/"
	"$IN" scripts/initramfs.sh "$@"
}

logged selftests-build "Building the kselftests${1:+ ($1)}" build "$@"
