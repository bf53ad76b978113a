#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Steal-driven management of CPUs as it was proposed in December 2025, part by part (README.md, S5). What other tests show at
# length is asked of these.

. "$(dirname "$0")/corefold.sh"

# asked TEST NAME...: parts of a test program; one that this machine cannot run is none.
asked() {
	program=$1
	shift
	for name; do
		./"$program" -t "$name" >/tmp/asked 2>&1 && continue
		[ $? = "$KSFT_SKIP" ] || { sed 's/^/# /' /tmp/asked; return 1; }
	done
}
# What is stolen of the time in use is near so many basis points.
steal_near() {
	bp=$(status steal_bp)
	[ "$bp" != - ] && [ "$bp" -ge $(($1 * 3 / 4)) ] && [ "$bp" -le $(($1 * 5 / 4)) ]
}
is_number_or_dash() { [ "$1" = - ] || [ "$1" -gt 0 ]; }
least() { floor=$(status floor_cores) && [ "$floor" -ge 1 ] && for_long 2 active_at_least "$floor"; }
# shellcheck disable=SC2086 # Process numbers are words.
none_folded_runs() { [ -z "$(mask)" ] || ! ./load on "$(mask)" $SPINNERS; }
faster() {
	set_knob interval_ms 1000
	usleep 1000000
	slow=$(event samples)
	usleep 2000000
	slow=$(($(event samples) - slow))
	set_knob interval_ms 100
	fast=$(event samples)
	usleep 2000000
	fast=$(($(event samples) - fast))
	echo "# $slow samples in 2 s at 1000 ms, $fast at 100 ms"
	[ "$fast" -gt $((slow * 2)) ]
}
last=$((ALL - 1))
siblings=$(cat $CPUS/cpu$last/topology/thread_siblings_list)
core=$(seq "${siblings%%[-,]*}" $last)

plan 17
load_lab
load corefold_lab_pack
check "part 1: the slow wake-up path honours asym packing" asked asym_test fork_takes_the_best_idle_cpu
unload corefold_lab_pack
check "part 7: a CPU that is soft offline is left by all that may leave" \
	asked soft_offline_test running_tasks_leave_and_return queued_tasks_leave
check "part 8: one that is online again is used again" asked soft_offline_test running_tasks_leave_and_return
check "part 9: one that is soft offline has no capacity to speak of" \
	asked soft_offline_test no_asym_capacity folded_core_is_idle_under_load
check "part 14: it counts as preempted" asked soft_offline_test wakeups_stay_away counts_as_preempted

start_load
# Not their parent, which sleeps wherever it was last.
SPINNERS=$(pidof load | tr ' ' '\n' | grep -vx "$LOAD")
start_steal 90
load corefold interval_ms=10000
check "part 6: steal is not acted upon before it has been measured" for_long 1 is_empty
set_knob interval_ms 100
until_true 30 active_is 1
check "part 13: never below what the partition is entitled to" least
check "part 10: the balancer notices which CPUs are in use" for_long 1 none_folded_runs
stop_steal
until_true 30 is_empty

set_knob steal_high_bp 10000
start_steal 40
check "part 2: steal is summed over CPUs once per interval" until_true 10 steal_near 4000
stop_steal
half=$((ALL / 2 - 1))
start_steal 40 "0-$half"
check "part 3: and set in relation to the time of all of them" until_true 10 steal_near 2000
stop_steal
check "part 4: what is available is known, or that it is not" is_number_or_dash "$(status available_cores)"
check "part 5: what it is entitled to is known, or that it is not" is_number_or_dash "$(status entitled_cores)"

start_steal 60
check "part 16: users set the thresholds" for_long 2 is_empty
set_knob steal_high_bp 500
check "part 11: much steal folds" until_true 20 is_folded
stop_steal
check "part 12: little steal unfolds" until_true 30 is_empty
cores=$(status cores)
cores_are() { [ "$(status cores)" = "$1" ]; }
last_core() {
	for cpu in $core; do
		online "$cpu" "$1" || return 1
	done
}
removed_and_added() {
	last_core 0 && until_true 5 cores_are $((cores - 1)) && last_core 1 && until_true 10 cores_are "$cores"
}
check "part 15: processors that are removed and added are noticed" removed_and_added
check "part 17: the interval can be set" faster
finish
