#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Each knob refuses bad input, keeps its value and counts the refusal; good input is taken and
# shown.

. "$(dirname "$0")/corefold.sh"
LONG=$(printf '%0200d' 1)
NEWLINE='
'

# Without a process for each, of which there would be a thousand.
refusals() {
	while read -r name count; do
		[ "$name" != refused_writes ] || return 0
	done <$COREFOLD/events
}
# refuses KNOB VALUE
refuses() {
	read -r before <"$COREFOLD/$1"
	refusals
	refused=$count
	if [ -n "$2" ]; then
		! set_knob "$1" "$2" || return 1
	else
		# The shell would write nothing at all.
		[ "$(./load write "$COREFOLD/$1" "")" != 0 ] || return 1
	fi
	read -r after <"$COREFOLD/$1"
	refusals
	[ "$after" = "$before" ] && [ "$count" -gt "$refused" ]
}

takes() {
	set_knob "$1" "$2" && [ "$(knob "$1")" = "$2" ]
}

# refuses_all KNOB: what no knob may take; but for a list, which may be empty.
refuses_all() {
	for value in junk "" "$NEWLINE" -1 4294967296 99999999999999999999 1e3 "1 2" "$LONG" \
		"1${NEWLINE}2"; do
		case $1$value in
		asym_levels | "asym_levels$NEWLINE") continue ;;
		esac
		refuses "$1" "$value" || { echo "# $1 took '$value', now $(knob "$1")"; return 1; }
	done
}

plan 65
load_lab
load corefold interval_ms=100000
for name in $KNOBS; do
	check "$name refuses junk, empty, negative and huge values" refuses_all "$name"
done

check "interval_ms refuses 99" refuses interval_ms 99
check "interval_ms refuses 100001" refuses interval_ms 100001
check "interval_ms takes 100" takes interval_ms 100
check "interval_ms takes 100000" takes interval_ms 100000
check "steal_low_bp refuses the high threshold" refuses steal_low_bp "$(knob steal_high_bp)"
check "steal_low_bp refuses more than that" refuses steal_low_bp 9999
check "steal_high_bp refuses the low threshold" refuses steal_high_bp "$(knob steal_low_bp)"
check "steal_high_bp refuses 0" refuses steal_high_bp 0
check "steal_high_bp refuses 10001" refuses steal_high_bp 10001
check "steal_high_bp takes 10000" takes steal_high_bp 10000
check "steal_low_bp takes 9999" takes steal_low_bp 9999
check "steal_low_bp takes 0" takes steal_low_bp 0
check "steal_high_bp takes 1" takes steal_high_bp 1
check "steal_high_bp takes 500" takes steal_high_bp 500
check "steal_low_bp takes 200" takes steal_low_bp 200
check "confirm refuses 0" refuses confirm 0
check "confirm refuses 11" refuses confirm 11
check "confirm takes 10" takes confirm 10
check "confirm takes 1" takes confirm 1
check "floor_cores refuses 0" refuses floor_cores 0
check "floor_cores refuses more cores than there are" refuses floor_cores 1000
check "floor_cores takes 2" takes floor_cores 2
check "floor_cores takes 1" takes floor_cores 1
check "policy refuses an unknown one" refuses policy stepp
check "policy takes step" takes policy step
check "steal_capacity takes 0" takes steal_capacity 0
check "steal_capacity takes 1" takes steal_capacity 1
check "enabled refuses 2" refuses enabled 2
check "enabled takes 0" takes enabled 0
check "enabled takes 1" takes enabled 1

check "guard refuses an unknown one" refuses guard strictly
for choice in asym strict llc kernel; do
	check "guard takes $choice" takes guard $choice
done
check "guard_gap refuses 1025" refuses guard_gap 1025
check "guard_gap takes 1024" takes guard_gap 1024
check "guard_gap takes 0" takes guard_gap 0
check "rank_steal refuses 2" refuses rank_steal 2
check "rank_steal takes 1" takes rank_steal 1
check "rank_steal takes 0" takes rank_steal 0
check "asym_levels refuses a level that is not there" refuses asym_levels NOSUCH
check "asym_levels refuses one of SMT siblings" refuses asym_levels SMT
check "asym_levels refuses one of nodes" refuses asym_levels NUMA
check "asym_levels refuses the same level twice" refuses asym_levels "$(level),$(level)"
check "asym_levels takes one that is there" takes asym_levels "$(level)"
check "asym_levels takes none" takes asym_levels none
set_knob enabled 0
check "disabled: asym_levels refuses a level that is not there" refuses asym_levels NOSUCH
set_knob enabled 1

shown_are_read_only() {
	for name in $SHOWN; do
		[ "$(stat -c %a "$COREFOLD/$name")" = 444 ] || return 1
		[ "$(./load write "$COREFOLD/$name" 1)" != 0 ] || return 1
		cat "$COREFOLD/$name" >/dev/null || return 1
	done
}
check "what only shows is read-only" shown_are_read_only

# Writers and readers at once: each value read is one of those written.
scribble() {
	while :; do
		./load write $COREFOLD/steal_high_bp 600
		./load write $COREFOLD/steal_high_bp 700
		./load write $COREFOLD/steal_high_bp junk
	done
}
background scribble
first=$job
background scribble
one_of_those() {
	case $(knob steal_high_bp) in
	500 | 600 | 700) ;;
	*) return 1 ;;
	esac
}
check "concurrent writes are whole" times_do 50 one_of_those
stop "$first"
stop "$job"
interval_at_once() {
	samples=$(event samples)
	set_knob interval_ms 100 && until_true 5 test_more_samples
}
test_more_samples() { [ "$(event samples)" -gt "$((samples + 3))" ]; }
check "a shorter interval holds at once" interval_at_once
check "the module still works" folds_and_unfolds
check "unloads" unload corefold
finish
