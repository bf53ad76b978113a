#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A single CPU is never folded.

. "$(dirname "$0")/corefold.sh"
plan 9
[ "$ALL" = 1 ] || { echo "# $ALL CPUs"; exit 1; }
load_lab
check "soft offline of the only CPU is refused" test "$(./load write $LAB/soft_offline 0)" = 22
./load write $LAB/soft_offline release >/dev/null
check "the module loads" load corefold interval_ms=100
start_load
start_steal 90
check "steal does not fold it" for_long 3 is_empty
check "one core is active" active_is 1
check "the module runs" state_is running
check "the floor cannot be higher" not set_knob floor_cores 2
check "the cores of its only cache may be packed" set_knob asym_levels MC
check "and there is nothing to guard" set_knob guard strict
stop_steal
check "unloads" unload corefold
finish
