#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# kunit.sh [GLOB]: build the kernel of drivers/virt/corefold/.kunitconfig with the kernel's own kunit.py, and run
# its suites in an emulated guest. The rest of the configuration is that of the debug kernel, so that races show
# and ccache helps.

. "$(dirname "$0")/lib.sh"

[[ ${1:-} != -* ]] || die "usage: kunit.sh [GLOB], a glob of suite names such as 'corefold_*'"
OUT=build/$ARCH-kunit

run_kunit() {
	"$TOP/scripts/in-toolchain" sh -c 'cd build/linux-7.3.y && exec tools/testing/kunit/kunit.py run "$@"' kunit.py \
		--arch="$KUNIT_ARCH" --build_dir="../$ARCH-kunit" --kunitconfig="../$ARCH-kunit/kunit.config" \
		"${KBUILD[@]/#/--make_options=}" \
		--jobs "$JOBS" --kernel_args kunit.autorun=1 --kernel_args no_timer_check --qemu_args '-smp 4' --timeout 900 "$@"
}

# kunit.py builds without a word; what it would build is built before, line by line.
"$TOP/scripts/kernel.sh" kunit all
[ "$TOP/$OUT/kunit.config" -nt "$TOP/$OUT/wanted.config" ] || cp "$TOP/$OUT/.config" "$TOP/$OUT/kunit.config"
logged kunit "Running the KUnit suites" run_kunit "$@"
"$TOP/scripts/splats.sh" "$TOP/$OUT/test.log"
