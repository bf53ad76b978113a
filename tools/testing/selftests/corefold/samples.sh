#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The modules of samples/rust: each does what it says while it is loaded, beside nobody, and leaves nothing behind.

. "$(dirname "$0")/corefold.sh"
SCHED=$DEBUG/sched
last=$((ALL - 1))

[ -e "$MODULES/rust_soft_offline.ko" ] || modinfo rust_soft_offline >/dev/null 2>&1 || {
	ktap_skip_all "there are no samples"
	exit "$KSFT_SKIP"
}
preferred() { cat $SCHED/domains/cpu0/domain*/group_asym_prefer_cpu 2>/dev/null | tr '\n' ' '; }
flags() { cat $SCHED/domains/cpu*/domain*/flags; }
packs() { flags | grep -q ASYM_PACKING; }
mask_is() { [ "$(mask)" = "$1" ]; }

# Not each machine has the level MC.
levels='mc=1 pkg=0'
[ "$(uname -m)" != ppc64le ] || levels='mc=0 pkg=1'

plan 16
echo Y >$SCHED/verbose
BEFORE="$(preferred)$(flags)"
check "soft offline: loads" load rust_soft_offline cpu=$last
check "the core of the CPU is folded" mask_is "$(cat $CPUS/cpu$last/topology/thread_siblings_list)"
check "corefold does not load beside it" not load corefold force=1
check "and says why" said "soft offline is claimed by another driver"
check "soft offline: unloads" unload rust_soft_offline
check "nothing stays folded" is_empty
check "a CPU that does not exist is refused" not load rust_soft_offline cpu=100000

# shellcheck disable=SC2086 # Parameters are words.
check "asym priority: loads" load rust_asym_priority high_cpus=$((1 << last)) $levels
check "the level packs" packs
check "the CPU goes first" grep -qx "$last" $SCHED/domains/cpu$last/domain*/group_asym_prefer_cpu

check "cache guard: a policy that does not exist is refused" not load rust_cache_guard policy=4
check "loads" load rust_cache_guard policy=2
check "unloads" unload rust_cache_guard
check "and says what it did" said "rust_cache_guard: asym packing won"
check "asym priority: unloads" unload rust_asym_priority
check "domains are as they were" test "$(preferred)$(flags)" = "$BEFORE"
finish
