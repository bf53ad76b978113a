# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Shared by the scripts here: where things are, how to speak, how to fail.

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
LOGS=$BUILD/logs
CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/corefold
TOOLCHAIN=${TOOLCHAIN:-root}
ARCH=${ARCH:-x86_64}
JOBS=${JOBS:-$(nproc)}

# The assembled kernel tree.
TREE=$BUILD/linux-7.3.y

say() { printf '%s\n' "$*" >&2; }
die() { printf 'corefold: %s\n' "$*" >&2; exit 1; }

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
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		(( (SECONDS - start) % 30 )) ||
			say "    ... $((SECONDS - start)) s, $(wc -l <"$log") lines: $(tail -n 1 "$log" | cut -c 1-70)"
	done
	if ! wait "$pid"; then
		tail -n 30 "$log" >&2
		die "$text: failed after $((SECONDS - start)) s, see ${log#"$TOP"/}"
	fi
	say "    done in $((SECONDS - start)) s"
}

# The root with the toolchain, keyed by what makes it.
toolchain_root() {
	local key
	key=$(cat "$TOP/scripts/toolchain.sh" "$TOP/scripts/toolchain.packages" | sha256sum | cut -c 1-12)
	printf '%s\n' "$CACHE/toolchain-$key"
}
