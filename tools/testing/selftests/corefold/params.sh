#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A bad module parameter refuses the load, and the log names it; a good one is taken.

. "$(dirname "$0")/corefold.sh"
BAD='interval_ms=99 interval_ms=0 interval_ms=100001 interval_ms=-1 interval_ms=4294967296
	interval_ms=junk interval_ms= steal_high_bp=10001 steal_high_bp=0 steal_high_bp=200
	steal_low_bp=10000 steal_low_bp=500 steal_low_bp=-1 confirm=0 confirm=11 confirm=-1
	floor_cores=0 floor_cores=1000 floor_cores=junk enabled=2 enabled=junk guard_gap=1025 guard_gap=-1
	guard_gap=junk rank_steal=2 rank_steal=junk'
GOOD='interval_ms=100 interval_ms=100000 steal_high_bp=10000 steal_low_bp=0 confirm=1 confirm=10
	floor_cores=2 enabled=0 guard_gap=0 guard_gap=1024 rank_steal=1'

# refused PARAMETER: no load, and a line of the log with its name.
refused() {
	dmesg -c >/dev/null
	! load corefold "$1" || { unload corefold; return 1; }
	dmesg | grep -q "${1%%=*}"
}

taken() {
	load corefold "$1" || return 1
	[ "$(knob "${1%%=*}")" = "${1#*=}" ]
	result=$?
	unload corefold && return $result
}

# shellcheck disable=SC2086 # One test per word.
set -- $BAD
count=$#
# shellcheck disable=SC2086
set -- $GOOD
plan $((count + $#))
load_lab
for parameter in $BAD; do
	check "refuses $parameter" refused "$parameter"
done
for parameter in $GOOD; do
	check "takes $parameter" taken "$parameter"
done
finish
