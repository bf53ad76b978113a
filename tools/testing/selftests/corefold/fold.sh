#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# With steal the module folds, never below its floor; without it unfolds; disabled it does neither.

. "$(dirname "$0")/corefold.sh"
plan 20

load_fast
cores=$(status active_cores)
start_load
check "without steal nothing is folded" for_long 2 is_empty
check "samples are taken" test "$(event samples)" -gt 3

start_steal 60
check "steal folds" until_true 20 is_folded
check "down to the floor" until_true 20 active_is 1
check "and no further" for_long 1 active_is 1
check "status and kernel agree" test "$(status folded)" = "$(mask)"
check "cores says which are folded" grep -q folded $COREFOLD/cores
check "cores lists each core" test "$(grep -c '^ *[0-9]' $COREFOLD/cores)" -ge "$cores"
check "folds are counted" test "$(event folds)" -gt 0
check "history tells of them" grep -q fold $COREFOLD/history
check "online CPUs stay" test "$(cat $CPUS/online)" = "$ONLINE"
check "a task may be sent to a folded CPU" taskset -c "$(mask | sed 's/.*[-,]//')" true

set_knob floor_cores 2
check "a higher floor is taken at once" until_true 5 active_at_least 2
set_knob floor_cores 1

set_knob steal_high_bp 10000
set_knob steal_low_bp 1
usleep 500000
folds=$(event folds) unfolds=$(event unfolds)
same() { [ "$(event folds)" = "$folds" ] && [ "$(event unfolds)" = "$unfolds" ]; }
check "between the thresholds nothing changes" for_long 2 same
set_knob steal_high_bp 500
set_knob steal_low_bp 200

until_true 10 active_is 1
set_knob enabled 0
check "disabled: unfolds" until_true 5 is_empty
samples=$(event samples)
check "disabled: does not fold" for_long 1 is_empty
check "disabled: does not sample" test "$(event samples)" -le "$((samples + 1))"
set_knob enabled 1
check "enabled again: folds" until_true 20 is_folded

stop_steal
check "without steal all come back" until_true 30 active_is "$cores"
check "and the mask is empty" is_empty
finish
