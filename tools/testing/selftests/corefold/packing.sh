# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What the tests and the benchmark of packing share: caches, ranks, and where busy threads run.

PACK=/sys/kernel/debug/corefold_lab_pack
CPUS=/sys/devices/system/cpu

# The priorities of the two caches of a measured hybrid machine.
FAST_PRIORITY=236
SLOW_PRIORITY=100

# The CPUs that share the last-level cache with CPU $1.
llc_of() { cat "$CPUS/cpu$1/cache/index3/shared_cpu_list"; }

# Of two caches, the one of the first CPU is the fast one.
find_caches() {
	FAST=$(llc_of 0)
	SLOW=$(llc_of "$(sed 's/.*[-,]//' $CPUS/online)")
	[ "$FAST" != "$SLOW" ]
}

# In epochs of 10 ms: for how long a process keeps its home if nobody has looked where it runs. Emulated CPUs may stand still
# for longer than the default.
HOME_EPOCHS=/sys/kernel/debug/sched/llc_balancing/epoch_affinity_timeout
keep_homes() { echo 1000 >$HOME_EPOCHS; }

# For how long threads make themselves at home, in milliseconds.
# shellcheck disable=SC2034 # Used by those who read this file.
HOME_MS=1000

# rank LINES: each has a list of CPUs, and their priority.
rank() { echo "$1" >$PACK/priority; }
pack_on() { echo "$1" >$PACK/levels; }
set_guard() { echo "$*" >$PACK/guard; }
guard_count() { sed -n "s/^$1 //p" $PACK/guard; }

rank_caches() { rank "$FAST $FAST_PRIORITY
$SLOW $SLOW_PRIORITY"; }

# The CPUs of this machine as the first ones of a measured LPAR: what the hypervisor promises a CPU is its rank.
lpar() { awk -F, -v cpus="$(nproc)" -v what="$1" '
	BEGIN { rank["vert-high"] = 1024; rank["vert-medium"] = 512; rank["vert-low"] = 128 }
	FNR == 1 || $1 >= cpus { next }
	what == "ranks" { print $1, rank[$7] }
	what == $7 { list = list comma $1; comma = "," }
	END { if (list != "") print list }' s390-lpar-48cpu.csv; }

rank_lpar() { rank "$(lpar ranks)"; }

# In what ring prints of a watch: basis points, milliseconds, moves away.
share_of() { echo "${1%% *}"; }
moves_of() { echo "${1##* }"; }
