#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Suspend, in test mode, while folded: the module stops with the rest and goes on afterwards.

. "$(dirname "$0")/corefold.sh"
[ -e /sys/power/pm_test ] || { ktap_skip_all "no /sys/power/pm_test"; exit "$KSFT_SKIP"; }

# suspend LEVEL STATE
suspend() {
	echo "$1" >/sys/power/pm_test
	result=$(./load write /sys/power/state "$2")
	echo none >/sys/power/pm_test
	[ "$result" = 0 ]
}

plan 8
load_fast
start_load
start_steal 60
check "folds" until_true 20 active_is 1
check "tasks freeze and thaw while folded" suspend freezer freeze
check "the module runs on" until_true 5 state_is running
check "and folds while steal lasts" until_true 20 active_is 1
if grep -q mem /sys/power/state; then
	check "all CPUs but one go down and come back" suspend processors mem
else
	ktap_test_skip "all CPUs but one go down and come back"
fi
check "the module folds again" until_true 20 active_is 1
stop_steal
check "and unfolds" until_true 30 is_empty
check "and works" folds_and_unfolds
finish
