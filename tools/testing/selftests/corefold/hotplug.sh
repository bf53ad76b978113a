#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# CPUs go and come while the module folds.

. "$(dirname "$0")/corefold.sh"
last=$((ALL - 1))
absent() { ! ./load covers "$(mask)" "$1"; }

plan 10
load_fast
cores=$(status active_cores)
start_load
start_steal 60
check "folds" until_true 20 active_is 1
check "a folded CPU goes down" online $last 0
check "and is not in the mask" absent $last
check "the module runs on" for_long 1 state_is running
check "the CPU comes up" online $last 1
check "and is folded again while steal lasts" until_true 20 active_is 1

gust() {
	online $last 0 && online $((last - 1)) 0 || return 1
	usleep 150000
	online $last 1 && online $((last - 1)) 1 || return 1
	usleep 150000
	state_is running
}
check "CPUs go and come all the time" times_do 5 gust
check "the module still folds" until_true 20 active_is 1
stop_steal
check "and unfolds" until_true 30 is_empty
check "to all cores" until_true 10 active_is "$cores"
finish
