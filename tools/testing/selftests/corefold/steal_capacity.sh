#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Stolen time lowers the capacity of a busy CPU, but not while corefold answers it.

. "$(dirname "$0")/corefold.sh"

# Of the last CPU. The first one is busy with taking its time away, between two ticks, so that each finds some of it taken.
last=$((ALL - 1))
lose() {
	background taskset 1 ./steal 60 $last 0 1
	STEAL=$job
}
# load_is OPERATOR LIMIT: what the balancer takes off it.
load_is() { now=$(field $LAB/irq_load $last) && test "$now" "$1" "$2"; }
soon() { until_true 10 "$@" && echo "# $now of 1024"; }

plan 7
load_lab
start_load
check "without steal a CPU has its capacity" soon load_is -lt 200
lose
check "stolen time is taken off it" soon load_is -gt 300
# Which only measures.
load corefold interval_ms=100 steal_high_bp=10000
check "corefold keeps it from that" soon load_is -lt 200
check "and says so" test "$(status steal_capacity)" = kept-from-steal
set_knob steal_capacity 0
check "unless it should not" soon load_is -gt 300
set_knob steal_capacity 1
until_true 10 load_is -lt 200
unload corefold
check "it is as before when corefold is gone" soon load_is -gt 300
stop_steal
check "and capacity comes back without steal" soon load_is -lt 200
finish
