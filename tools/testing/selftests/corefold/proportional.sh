#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The proportional policy against a hypervisor that grants so many CPUs and steals what is beyond:
# it settles on them, takes cores back when steal goes, and an idle guest gets all of them.

. "$(dirname "$0")/corefold.sh"

# The host gives so many CPUs' worth of time, in equal parts, to all that are in use.
grant() { start_steal "grant=$1"; }

near() { active_at_least "$1" && ! active_at_least $(($1 + 2)); }

# settles CPUS: on what is granted, within eight intervals, and stays within a core of it.
settles() { until_true 8 near "$1" && for_long 8 near "$1"; }

plan 9
load_lab
load corefold interval_ms=1000
set_knob policy proportional
all=$(status active_cores)
start_load
check "without steal nothing is folded" for_long 2 is_empty

grant 2
check "settles on two granted CPUs" settles 2
check "the decision was to go to the rate" grep -q ' rate$' $COREFOLD/history
stop_steal
check "takes all cores back when steal goes" until_true 10 active_is "$all"

grant 1
check "settles on one granted CPU" settles 1
set_knob floor_cores 3
check "a higher floor is taken at once" until_true 2 active_at_least 3
set_knob floor_cores 1
check "and left again" settles 1
stop "$LOAD"
stop_steal
check "an idle guest gets all cores back" until_true 10 active_is "$all"
check "and keeps them" for_long 2 active_is "$all"
finish
