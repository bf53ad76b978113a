#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Stolen time lowers the capacity of a busy CPU, but not while corefold answers it.

. "$(dirname "$0")/corefold.sh"

# loads_are OPERATOR LIMIT: what the balancer takes off each CPU.
loads_are() {
	loads=
	while read -r _ load; do
		[ "$load" "$1" "$2" ] || { failed=$(cat $LAB/irq_load); return 1; }
		loads="$loads $load"
	done <$LAB/irq_load
	echo "# $loads"
}

plan 7
load_lab
start_load
check "without steal CPUs have their capacity" until_true 10 loads_are -lt 200
start_steal 60
check "stolen time is taken off it" until_true 10 loads_are -gt 300
# Which only measures.
load corefold interval_ms=100 steal_high_bp=10000
check "corefold keeps it from that" until_true 10 loads_are -lt 200
check "and says so" test "$(status steal_capacity)" = kept-from-steal
set_knob steal_capacity 0
check "unless it should not" until_true 10 loads_are -gt 300
set_knob steal_capacity 1
until_true 10 loads_are -lt 200
unload corefold
check "it is as before when corefold is gone" until_true 10 loads_are -gt 300
stop_steal
check "and capacity comes back without steal" until_true 10 loads_are -lt 200
finish
