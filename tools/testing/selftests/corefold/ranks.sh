#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Ranks, levels to pack on and the guard: taken and given back, alone and beside another owner.

. "$(dirname "$0")/corefold.sh"
SCHED=$DEBUG/sched
EBUSY=16
[ "$(uname -m)" = ppc64le ] && ALIKE=1 || ALIKE=0

# All that the scheduler tells of its domains, but for what changes by itself.
domains() {
	set --
	for file in "$SCHED"/domains/cpu*/domain*/*; do
		case ${file##*/} in
		max_newidle_lb_cost | last_* | newidle_*) ;;
		*) set -- "$@" "$file" ;;
		esac
	done
	grep -H '' "$@" 2>&1
}
packs() { grep -q "^$1 .*ASYM_PACKING" $COREFOLD/domains; }
as_before() { [ "$(domains)" = "$BEFORE" ]; }

# Columns of the table of ranks.
priority_of() { awk -v cpu="$1" '$1 == cpu { print $4 }' $COREFOLD/ranks; }
capacity_of() { awk -v cpu="$1" '$1 == cpu { print $3 }' $COREFOLD/ranks; }
# The threads of a core may rank alike.
falls_with_number() { awk '
	NR > 2 && ($4 > last || $4 == last && !alike) { bad = 1 }
	NR == 2 { first = $4 }
	{ last = $4 }
	END { exit bad || last >= first }' alike="$ALIKE" $COREFOLD/ranks; }
no_priorities() { ! awk 'NR > 1 && $4 != "-" { found = 1 } END { exit !found }' $COREFOLD/ranks; }
is_lower() { [ "$(priority_of "$1")" -lt "$(priority_of "$2")" ]; }
whole() { [ "$(capacity_of "$1")" = 1024 ]; }
each_cpu_listed() { [ "$(wc -l <$COREFOLD/ranks)" = $((ALL + 1)) ]; }

# refused_as KNOB VALUE ERROR: and nothing has changed.
refused_as() {
	before=$(knob "$1")
	[ "$(./load write "$COREFOLD/$1" "$2")" = "$3" ] && [ "$(knob "$1")" = "$before" ]
}
rebuilds_are() { [ "$(event rebuilds)" = "$1" ]; }
# folds_first CPU: it is in the first set that is not empty. That may not last, as a folded core is idle.
seen_folded() { folded=$(mask) && [ -n "$folded" ]; }
folds_first() { until_true 20 seen_folded && ./load covers "$folded" "$1"; }
last=$((ALL - 1))
core=$(cat $CPUS/cpu$last/topology/thread_siblings_list)

plan 43
echo Y >$SCHED/verbose
BEFORE=$(domains)
load_fast
# A partition packs by default, see pretend.sh.
[ "$(knob asym_levels)" = none ] || set_knob asym_levels none
check "each possible CPU has a rank" each_cpu_listed
check "by itself nothing is claimed" test "$(status ranks)" = kernel
check "and no priority is shown" no_priorities
check "nothing is packed" test "$(status asym_levels)" = none
check "the guard is off" test "$(status guard_state)" = off
check "domains are as they were" as_before

LEVEL=$(level)
check "levels are taken" set_knob asym_levels "$LEVEL"
check "the level packs" packs "$LEVEL"
check "domains were rebuilt once" rebuilds_are 1
check "ranks are corefold's" test "$(status ranks)" = corefold
check "equal CPUs rank by their number" falls_with_number
check "the first CPU is the first to be filled" \
	test "$(awk -v level="$LEVEL" '$1 == level { print $3; exit }' $COREFOLD/domains)" = 0
check "the same levels again rebuild nothing" set_knob asym_levels "$LEVEL"
check "really nothing" rebuilds_are 1
check "a bad level changes nothing" refused_as asym_levels NOSUCH 22
check "really nothing" packs "$LEVEL"
check "and the log says which levels there are" said "asym_levels: no such level.*$LEVEL"
check "disabled: nothing is packed" set_knob enabled 0
check "domains are as they were" as_before
check "enabled again: the level packs" set_knob enabled 1
check "really" packs "$LEVEL"
check "the guard is taken" set_knob guard strict
guard_says_what() {
	case $(status guard_state) in
	on | 'inert: '?*) ;;
	*) return 1 ;;
	esac
}
check "and says whether there is anything to guard" guard_says_what
check "and gives way again" set_knob guard kernel
check "it is off" test "$(status guard_state)" = off

# One core that gets little: it folds first, and ranks last if that is asked for.
set_knob steal_high_bp 10000
start_load
start_steal 80 "$core"
low() { [ "$(capacity_of "$last")" -lt 512 ]; }
check "what a core gets is measured" until_true 20 low
check "that of others is not" whole 0
rebuilds=$(event rebuilds) changes=$(event rank_changes)
check "ranks do not follow it" for_long 1 test "$(event rank_changes)" = "$changes"
set_knob rank_steal 1
check "unless told to" until_true 5 is_lower "$last" 0
check "a changed rank rebuilds nothing" rebuilds_are "$rebuilds"
check "a few priorities change, not all" test $(($(event rank_changes) - changes)) -lt 20
stop_steal
check "a core that gets its time again ranks as before" until_true 30 whole "$last"
set_knob rank_steal 0

start_steal 80 0
check "the core that gets least" until_true 20 not whole 0
set_knob steal_high_bp 300
check "folds first" folds_first 0
stop_steal
set_knob steal_high_bp 500
until_true 30 is_empty

set_knob asym_levels "$LEVEL"
check "unloads while it packs" unload corefold
check "domains are as they were" as_before

# Another owner.
load corefold_lab_pack
echo "0 100" >$DEBUG/corefold_lab_pack/priority
echo llc >$DEBUG/corefold_lab_pack/guard
check "loads beside another that ranks and guards" load corefold interval_ms=100
check "but cannot pack" refused_as asym_levels "$LEVEL" $EBUSY
check "nor rank by steal" refused_as rank_steal 1 $EBUSY
check "nor guard" refused_as guard asym $EBUSY
unload corefold
check "does not load to rank by steal" not load corefold rank_steal=1
check "and says why" said 'corefold: not loaded: asym priority.*another driver'
unload corefold_lab_pack
check "domains are as they were" as_before
finish
