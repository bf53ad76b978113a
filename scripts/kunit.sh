#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# kunit.sh [GLOB]: build the kernel of drivers/virt/corefold/.kunitconfig with the kernel's own kunit.py, and run
# its suites in an emulated guest.

. "$(dirname "$0")/lib.sh"

run_kunit() {
	"$TOP/scripts/in-toolchain" sh -c 'cd build/linux-7.3.y && exec tools/testing/kunit/kunit.py run "$@"' kunit.py \
		--arch="$ARCH" --build_dir="../kunit-$ARCH" --kunitconfig=drivers/virt/corefold \
		--make_options LLVM=1 --make_options CC='ccache clang' --make_options KBUILD_BUILD_TIMESTAMP=@0 \
		--jobs "$JOBS" --qemu_args '-smp 4' --timeout 900 "$@"
}

logged kunit "Building and running the KUnit suites" run_kunit "$@"
"$TOP/scripts/splats.sh" "$BUILD/kunit-$ARCH/test.log"
