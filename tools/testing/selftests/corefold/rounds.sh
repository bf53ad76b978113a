#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Load and unload ROUNDS times; nothing stays behind.

. "$(dirname "$0")/corefold.sh"
ROUNDS=${ROUNDS:-1000}

file=$MODULES/corefold.ko
[ -e "$file" ] || file=$(modinfo -n corefold)
rounds() { ./load rounds "$file" corefold "$1"; }

# KASAN keeps what was freed for a while: up to a 32nd of all memory.
kept_by_kasan() {
	zcat /proc/config.gz 2>/dev/null | grep -q '^CONFIG_KASAN=y' || { echo 0; return; }
	sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo | { read -r kb; echo $((kb / 32)); }
}

unreclaimable() { sed -n 's/^SUnreclaim: *\([0-9]*\).*/\1/p' /proc/meminfo; }

plan 4
load_lab
start_steal 60
rounds 5
before=$(unreclaimable)
check "$ROUNDS load/unload rounds" rounds "$ROUNDS"
after=$(unreclaimable)
echo "# unreclaimable slab: $before kB, $after kB"
check "no memory stays behind" test \
	$((after - before)) -lt $((2048 + 8 * ROUNDS + $(kept_by_kasan)))
check "nothing stays folded" is_empty
check "no debugfs directory stays" not test -e $COREFOLD
finish
