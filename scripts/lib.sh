# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by the scripts here: where things are, how to speak, how to fail.

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
CACHE=${XDG_CACHE_HOME:-~/.cache}/corefold
TOOLCHAIN=${TOOLCHAIN:-root}
export ARCH=${ARCH:-x86_64}
JOBS=${JOBS:-$(nproc)}

# The assembled kernel tree: .pristine in it names its source, .assembled lists what was written on top, with checksums.
TREE=$BUILD/linux-7.3.y
# The edits of existing kernel files, and what of this repository lies at the same place in the kernel tree.
PATCHES=$TOP/patches/7.3
# shellcheck disable=SC2034 # Used by those who read this file.
OVERLAY=(Documentation drivers include kernel rust samples tools/testing)

# What every Kbuild run is given: also by kunit.py, so that ccache knows its objects again.
# shellcheck disable=SC2034 # Used by those who read this file.
KBUILD=(LLVM=1 CC='ccache clang' KBUILD_BUILD_TIMESTAMP=@0 KBUILD_BUILD_USER=corefold KBUILD_BUILD_HOST=corefold)

say() { printf '%s\n' "$*" >&2; }
die() { printf 'corefold: %s\n' "$*" >&2; exit 1; }

[[ $JOBS =~ ^[1-9][0-9]*$ ]] || die "JOBS=$JOBS is no number of jobs: 1 or more"

# What differs between architectures: the names that Debian, the compiler and kunit.py have for it, and what a build makes.
# shellcheck disable=SC2034 # Used by those who read this file.
case $ARCH in
x86_64)
	DEBIAN_ARCH=amd64 TRIPLE=x86_64-linux-gnu KUNIT_ARCH=x86_64
	IMAGE=arch/x86/boot/bzImage GUEST_ROOT=
	;;
s390 | s390x)
	ARCH=s390 DEBIAN_ARCH=s390x TRIPLE=s390x-linux-gnu KUNIT_ARCH=s390
	IMAGE=arch/s390/boot/bzImage
	;;
powerpc | powerpcle | ppc64le)
	ARCH=powerpc DEBIAN_ARCH=ppc64el TRIPLE=powerpc64le-linux-gnu KUNIT_ARCH=powerpcle
	IMAGE=vmlinux
	# The wrapper of the boot image asks for the GNU tools.
	KBUILD+=("CROSS_COMPILE=$TRIPLE-")
	;;
*) die "ARCH=$ARCH is not known: x86_64, s390 and powerpc are" ;;
esac
# logs_of ARCH: where its logs are; apart from those of the usual one.
logs_of() { if [ "$1" = x86_64 ]; then printf '%s\n' "$BUILD/logs"; else printf '%s\n' "$BUILD/logs/$1"; fi; }
LOGS=$(logs_of "$ARCH")
# Where in the toolchain root the programs of guests are: the root itself, or that of another architecture.
GUEST_ROOT=${GUEST_ROOT-/guest/$DEBIAN_ARCH}

# need PROGRAM PACKAGE: have PROGRAM; root on Debian gets it installed, anyone else is told what to do.
need() {
	command -v "$1" >/dev/null && return
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		die "the program '$1' is missing: install it (on Debian: apt-get install $2)"
	fi
	logged "apt-$2" "Installing $2" sh -c "apt-get update && apt-get install -y --no-install-recommends $2"
}

# logged NAME TEXT COMMAND...: run a long step, keep its output in a log, show what it is doing.
logged() {
	local log=$LOGS/$1.log text=$2 start=$SECONDS pid
	shift 2
	mkdir -p "$LOGS"
	say "  $text (log: ${log#"$TOP"/})"
	# A process group of its own, so that an interrupt ends all of it: by itself none would reach it.
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	set +m
	trap 'kill -TERM -- "-$pid" 2>/dev/null; exit 130' INT TERM
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		(( (SECONDS - start) % 30 )) ||
			say "    ... $((SECONDS - start)) s, $(wc -l <"$log") lines: $(tail -n 1 "$log" | cut -c 1-70)"
	done
	if ! wait "$pid"; then
		tail -n 30 "$log" >&2
		die "$text: failed after $((SECONDS - start)) s, see ${log#"$TOP"/}"
	fi
	trap - INT TERM
	say "    done in $((SECONDS - start)) s"
}

# build_stock: the kernel as it came, to compare with, and the programs that run on either.
build_stock() {
	"$TOP/scripts/kernel-tree.sh" stock
	"$TOP/scripts/kernel.sh" stock image
	"$TOP/scripts/selftests-build.sh" stock
	"$TOP/scripts/selftests-build.sh"
}

# boot_counting ARGUMENT...: boot.sh, with one instruction a nanosecond of the guest's clock.
boot_counting() {
	"$TOP/scripts/boot.sh" -c tcg,thread=single -a 'kunit.enable=0 nokaslr' \
		-q '-icount shift=0,sleep=off -rtc base=2026-01-01,clock=vm' "$@"
}

# The root with the toolchain, keyed by what makes it.
toolchain_root() {
	local key
	key=$(cat "$TOP/scripts/toolchain.sh" "$TOP/scripts/toolchain.packages" | sha256sum | cut -c 1-12)
	printf '%s\n' "$CACHE/toolchain-$key"
}

patch_names() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$PATCHES/series" 2>/dev/null || true; }

# The kernel files that the queue edits.
patched_files() { patch_names | sed "s|^|$PATCHES/|" | xargs -r sed -n 's|^+++ b/\([^\t]*\).*|\1|p' | sort -u; }

# The files that the last assembly of the tree wrote.
assembled_files() { sed -e 's/^[0-9a-f]\{64\}  //' -e 's|^\./||' "$TREE/.assembled" 2>/dev/null || true; }

# Those of them that have been edited since.
edited_assembled() {
	(cd "$TREE" 2>/dev/null && sha256sum --quiet -c .assembled 2>/dev/null) | sed -n 's|^\./\(.*\): FAILED.*|\1|p' || true
}

files_in() { (cd "$1" && find . -type f -printf '%P\n' | sort); }

# All files of the tree that have been edited since it was assembled, those that are new in it or missing included.
edited_files() {
	local pristine
	pristine=$(cat "$TREE/.pristine" 2>/dev/null) || return 0
	edited_assembled
	[ -d "$pristine" ] || return 0
	(cd "$TREE" && find . -name __pycache__ -prune -o -type f -cnewer .pristine -print 2>/dev/null) |
		sed -e 's|^\./||' -e '/^\.\(assembled\|pristine\)$/d' -e '/\(~\|\.orig\|\.rej\|\.swp\)$/d' | sort |
		comm -23 - <(assembled_files | sort) |
		rsync -nrlc --out-format=%n --files-from=- "$TREE/" "$pristine/"
	comm -23 <(files_in "$pristine") <(files_in "$TREE") | comm -23 - <(assembled_files | sort)
}
