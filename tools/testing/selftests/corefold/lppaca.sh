#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What PowerVM would write to the counters of each CPU's lppaca. They cannot be set back: no test with corefold_lab's own
# clock runs after this one until the next boot.

. "$(dirname "$0")/corefold.sh"

[ "$(uname -m)" = ppc64le ] || {
	ktap_skip_all "only a partition of PowerVM has an lppaca"
	exit "$KSFT_SKIP"
}
stolen() { awk '/^cpu / { print $9 }' /proc/stat; }
# Ticks of a hundredth of a second, of all CPUs that a test of two seconds has.
stolen_near() {
	before=$(stolen)
	usleep 2000000
	part=$((($(stolen) - before) * 100 / (ALL * 200)))
	echo "# $part % stolen"
	[ "$part" -ge $(($1 * 3 / 4)) ] && [ "$part" -le $(($1 * 5 / 4)) ]
}

plan 6
check "the counters are there" load corefold_lab lppaca=1
check "corefold takes them for a source" load corefold interval_ms=100 steal_high_bp=10000
start_load
start_steal 40
check "/proc/stat shows what they count" stolen_near 40
set_knob steal_high_bp 500
check "it folds by them" until_true 30 active_is "$(status floor_cores)"
stop_steal
check "it unfolds when they stand still" until_true 30 is_empty
check "unloads" unload corefold
finish
