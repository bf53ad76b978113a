#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# kernel.sh [debug|kunit|lint|stock] TARGET...: configure the assembled tree for ARCH and run Kbuild targets on it.
# The output is build/ARCH, build/ARCH-debug, build/ARCH-kunit (debug, with everything built in) or, from the
# pristine source, build/ARCH-stock. The target 'image' is what boots.

. "$(dirname "$0")/lib.sh"

VARIANT=
SOURCE=linux-7.3.y
case ${1:-} in
debug | kunit | lint) VARIANT=$1; shift ;;
stock) VARIANT=stock; SOURCE=linux-stock; shift ;;
esac
OUT=build/$ARCH${VARIANT:+-$VARIANT}

# kbuild ARGUMENT...: Kbuild, inside the toolchain.
kbuild() {
	"$TOP/scripts/in-toolchain" make -C "build/$SOURCE" O="../../$OUT" ARCH="$ARCH" "${KBUILD[@]}" \
		-j"$JOBS" "$@"
}

# The fragments' options, the last word on each.
fragments() {
	local files=("$TOP/configs/base.config" "$TOP/configs/$ARCH.config")
	[ "$VARIANT" = stock ] || files+=("$TOP/configs/corefold.config")
	case $VARIANT in
	debug | kunit)
		files+=("$TOP/configs/debug.config")
		[ ! -e "$TOP/configs/$ARCH-debug.config" ] || files+=("$TOP/configs/$ARCH-debug.config")
		;;&
	lint) files+=("$TOP/configs/lint.config") ;;
	kunit) files+=("$TOP/drivers/virt/corefold/.kunitconfig") ;;
	esac
	awk '
		match($0, /^(# )?CONFIG_[A-Za-z0-9_]+/) {
			name = substr($0, RSTART, RLENGTH)
			sub(/^# /, "", name)
			if (!(name in line))
				order[++n] = name
			line[name] = $0
		}
		END { for (i = 1; i <= n; i++) print line[order[i]] }
	' "${files[@]}"
	# A new Kconfig symbol also asks for a new configuration.
	[ "$VARIANT" = stock ] || { cat "$TOP"/patches/7.3/* "$TOP"/drivers/virt/corefold/Kconfig 2>/dev/null || true; } | sha256sum | sed "s/^/# /"
}

# Whatever Kconfig drops stops the build.
configure() {
	local wanted=$TOP/$OUT/wanted.config
	mkdir -p "$TOP/$OUT"
	fragments >"$wanted.new"
	if cmp -s "$wanted.new" "$wanted" && [ -e "$TOP/$OUT/.config" ]; then
		return
	fi
	[ "$TOOLCHAIN" != host ] || logged rustavailable "Checking this machine's compilers" kbuild rustavailable
	logged config "Configuring the kernel" kbuild KCONFIG_ALLCONFIG="../../$OUT/wanted.config.new" allnoconfig
	local dropped
	# What is not set may be there as not set, or not at all.
	dropped=$(grep '^CONFIG_' "$wanted.new" | grep -vxFf "$TOP/$OUT/.config" || true
		sed -n 's/^# \(CONFIG_.*\) is not set$/^\1=/p' "$wanted.new" | grep -f - "$TOP/$OUT/.config" || true)
	[ -z "$dropped" ] ||
		die "Kconfig did not take these lines of configs/, a dependency is missing:" "$dropped"
	# Last, so that whatever stops this before asks for it again.
	mv "$wanted.new" "$wanted"
}

configure
set -- "${@/#image/${IMAGE##*/}}"
logged "kernel${VARIANT:+-$VARIANT}" "Building $ARCH${VARIANT:+ ($VARIANT)}: $*" kbuild "$@"
