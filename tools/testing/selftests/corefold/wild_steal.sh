#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Steal that goes backwards, jumps, overflows, stays at 100 % or vanishes: never a fold because of
# a bad sample, never below the floor, and sane steal is acted upon afterwards.

. "$(dirname "$0")/corefold.sh"
HOUR=3600000000000

# account NS [CPU]: add to kcpustat's steal time.
account() { echo "${2:-0} $1" >$LAB/account; }

nothing_comes_of() {
	"$@"
	usleep 60000
	is_empty
}

# Wild values come, twice per sample, and nothing folds; the event named counts them.
wild() {
	name=$1
	shift
	seen=$(event "$name")
	times_do 6 nothing_comes_of "$@" || return 1
	[ "$(event "$name")" -gt "$seen" ]
}

jump() { account $HOUR 0; }
jump_all() { for cpu in $(seq 0 $((ALL - 1))); do account $HOUR "$cpu"; done; }
backwards() { account -1000000000 0; }
overflow() { account 9223372036854775807 0; }
to_and_fro() { account $HOUR 1; account -$HOUR 1; }

plan 21
load_fast
start_load
check "works to begin with" folds_and_unfolds
check "steal that jumps on one CPU is no reason to fold" wild bad_excess jump
check "works after it" folds_and_unfolds
check "steal that jumps on all CPUs is no reason to fold" wild bad_excess jump_all
check "steal that goes backwards is no reason to fold" wild bad_backwards backwards
check "works after it" folds_and_unfolds
check "steal that overflows is no reason to fold" wild bad_overflow overflow
check "works after it" folds_and_unfolds
to_and_fro
check "a jump within one sample is nothing" for_long 1 is_empty

start_steal 100
check "100 % folds to the floor" until_true 20 active_is 1
check "and stays there" for_long 3 active_is 1
check "and the module still runs" state_is running
stop_steal
check "then all come back" until_true 30 is_empty

start_steal 60
until_true 20 active_is 1
stop "$LOAD"
stop_steal
check "steal that stops with the load unfolds" until_true 40 is_empty

# The steal clock itself goes back by a second while it runs.
start_load
start_steal 60
until_true 20 is_folded
stop_steal
# shellcheck disable=SC2046 # CPU and nanoseconds.
set -- $(head -n 1 $LAB/steal)
echo "$1 0" >$LAB/steal
check "a steal clock that falls to 0 never folds below the floor" for_long 2 active_at_least 1
echo "$1 $(($2 + 10000000000))" >$LAB/steal
check "works after it" until_true 60 is_empty
check "the module still runs" state_is running

# The source itself goes, and comes back.
start_steal 60
until_true 20 is_folded
stop_steal
unload corefold_lab
check "a source that vanishes unfolds all" until_true 10 is_empty
# Elsewhere the architecture has one of its own.
case $(uname -m) in
x86_64) check "and status says so" state_is no-steal-source ;;
*) check "and its own is used" state_is running ;;
esac
load_lab
check "a source that comes back is used" until_true 10 state_is running
check "and works" folds_and_unfolds
finish
