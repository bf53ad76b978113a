#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# kernel.sh [debug|stock] TARGET...: configure the assembled tree for ARCH and run Kbuild targets on it.
# The output is build/ARCH, build/ARCH-debug or, from the pristine source, build/ARCH-stock.

. "$(dirname "$0")/lib.sh"

VARIANT=
SOURCE=linux-7.3.y
case ${1:-} in
debug) VARIANT=debug; shift ;;
stock) VARIANT=stock; SOURCE=linux-stock; shift ;;
esac
OUT=build/$ARCH${VARIANT:+-$VARIANT}

# kbuild ARGUMENT...: Kbuild, inside the toolchain.
kbuild() {
	"$TOP/scripts/in-toolchain" make -C "build/$SOURCE" O="../../$OUT" ARCH="$ARCH" LLVM=1 CC='ccache clang' \
		KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_USER=corefold KBUILD_BUILD_HOST=corefold \
		-j"$JOBS" "$@"
}

fragments() {
	printf '%s\n' "$TOP/configs/base.config" "$TOP/configs/$ARCH.config"
	[ "$VARIANT" = stock ] || printf '%s\n' "$TOP/configs/corefold.config"
	[ "$VARIANT" != debug ] || printf '%s\n' "$TOP/configs/debug.config"
}

# Later fragments win; whatever Kconfig drops stops the build.
configure() {
	local wanted=$TOP/$OUT/wanted.config
	mkdir -p "$TOP/$OUT"
	fragments | xargs cat >"$wanted.new"
	if cmp -s "$wanted.new" "$wanted" && [ -e "$TOP/$OUT/.config" ]; then
		return
	fi
	[ "$TOOLCHAIN" != host ] || logged rustavailable "Checking this machine's compilers" kbuild rustavailable
	mv "$wanted.new" "$wanted"
	logged config "Configuring the kernel" kbuild KCONFIG_ALLCONFIG="../../$OUT/wanted.config" allnoconfig
	local dropped
	dropped=$(grep -E '^(CONFIG_|# CONFIG_.* is not set)' "$wanted" | grep -vxFf "$TOP/$OUT/.config" || true)
	[ -z "$dropped" ] || {
		rm -f "$wanted"
		die "Kconfig did not take these lines of configs/, a dependency is missing:" $dropped
	}
}

configure
logged "kernel${VARIANT:+-$VARIANT}" "Building $ARCH${VARIANT:+ ($VARIANT)}: $*" kbuild "$@"
