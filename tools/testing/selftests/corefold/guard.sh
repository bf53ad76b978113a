#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The cache guard, driven directly: corefold_lab_pack claims it. Where two caches are on one node it decides, elsewhere it
# must do nothing.

. "$(dirname "$0")/corefold.sh"
# shellcheck disable=SC1091 # Beside this file.
. ./packing.sh

# How long threads may move, and are watched.
SETTLE_MS=2000 WATCH_MS=2000
# Few enough for one cache: with more, no process is gathered there.
THREADS=$((ALL / 4))

guard() { set_guard "$@"; } 2>/dev/null
refused() { ! guard "$@"; }
counts() { sed 1d $PACK/guard | tr '\n' ' '; }
counts_are() { [ "$(counts)" = "$1" ]; }
present_is() { [ "$(guard_count present)" = "$1" ]; }
grew() { [ "$(guard_count "$1")" -gt "$2" ]; }
# Counts begin at zero with a claim.
anew() { guard release && guard "$@"; }
none='asym_wins 0 llc_wins 0 kept_up 0 '

# Threads that share their data begin at the slow cache, or at other CPUs, and may then run anywhere: leaves in $SHARE where
# they run then, in basis points of their time on the fast one, and in $MOVES how often one left it.
at_home() {
	background ./ring $THREADS "${1:-$SLOW}"
	usleep $((HOME_MS * 1000))
	./ring free "$job"
	usleep $((SETTLE_MS * 1000))
	watched=$(./ring watch "$FAST" $WATCH_MS "$job")
	SHARE=$(share_of "$watched") MOVES=$(moves_of "$watched")
	echo "# $THREADS threads: $watched, $(counts)"
	stop "$job"
}
mostly_fast() { [ "$SHARE" -ge 9900 ]; }
mostly_slow() { [ "$SHARE" -le 1000 ]; }
never_left() { [ "$MOVES" = 0 ]; }

set_all_online() {
	for cpu in $(expand "$1"); do
		online "$cpu" "$2" || return 1
	done
}
# The CPUs of a list such as 4-7.
expand() { seq "${1%%-*}" "${1##*-}"; }

interface() {
	check "a policy that does not exist is refused" refused nobody 1
	check "a gap that no priorities can have is refused" refused asym 2147483648
	check "and nothing has changed" test "$(cat $PACK/guard)" = "$BEFORE"
	check "it can be claimed" anew claim
	check "but not twice" refused claim
	check "the largest gap is taken" guard strict 2147483647
	check "every policy is taken" all_taken
	check "released, it can be claimed again" guard release
}
all_taken() {
	for policy in kernel asym strict llc kernel; do
		guard "$policy" 1 || return 1
	done
}

inert() {
	check "it says that there is nothing to decide" present_is 0
	pack_on MC
	for policy in asym strict llc; do
		anew $policy
		background ./load "$((ALL / 2 + 1))"
		usleep 1000000
		check "$policy: and decides nothing" counts_are "$none"
		stop "$job"
	done
}

live() {
	check "it says that there is something to decide" present_is 1
	rank_caches
	pack_on MC,PKG
	epochs=$(cat "$HOME_EPOCHS")
	keep_homes

	anew kernel
	at_home
	check "kernel: counts nothing" counts_are "$none"

	for policy in asym strict; do
		anew $policy
		at_home
		check "$policy: asym packing wins" mostly_fast
		check "$policy: and that is counted" grew asym_wins 0
		check "$policy: the cache did not win" test "$(guard_count llc_wins)" = 0
	done
	check "strict: nobody goes back down" never_left
	check "strict: it kept them from that" grew kept_up 0

	anew llc
	at_home
	check "llc: the cache wins" mostly_slow
	check "llc: and that is counted" grew llc_wins 0
	check "llc: asym packing did not win" test "$(guard_count asym_wins)" = 0

	anew asym $((FAST_PRIORITY - SLOW_PRIORITY + 1))
	at_home
	check "asym: not worth it for less than the gap" mostly_slow
	anew asym $((FAST_PRIORITY - SLOW_PRIORITY))
	at_home
	check "asym: worth it for the gap" mostly_fast

	# Of the first cache just one CPU is good, and that is folded.
	best=${FAST##*-}
	rank "$FAST $((SLOW_PRIORITY / 2))"
	rank "$best $FAST_PRIORITY"
	echo "$best" >$LAB/soft_offline
	anew strict
	at_home "${FAST%%-*}-$((best - 1))"
	check "strict: a folded CPU makes no cache a good one" grew kept_up 0
	check "strict: nor does it keep anybody there" mostly_slow
	echo release >$LAB/soft_offline
	rank_caches

	set_all_online "$SLOW" 0
	check "with one cache it says that there is nothing to decide" present_is 0
	set_all_online "$SLOW" 1
	check "with both again, that there is" present_is 1
	anew llc
	at_home
	check "and it decides" mostly_slow
	echo "$epochs" >"$HOME_EPOCHS"
}

find_caches 2>/dev/null
if ! load_lab || ! load corefold_lab_pack; then
	unload corefold_lab
	ktap_skip_all "the lab modules do not load"
	exit "$KSFT_SKIP"
fi
# On POWER each core counts as a cache. What is decided between such is not tried.
tests=12
[ "$(uname -m)" != ppc64le ] || tests=8
[ "$FAST" = "$SLOW" ] || [ -e /sys/devices/system/node/node1 ] || tests=28
plan $tests
BEFORE=$(cat $PACK/guard)
interface
case $tests in
12) inert ;;
28) live ;;
esac
guard release
echo release >$PACK/priority
unload corefold_lab_pack
finish
