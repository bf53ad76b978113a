#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# CPUs ranked as the first ones of a measured LPAR: tasks fill the best cores, one each, and follow ranks that change.

. "$(dirname "$0")/corefold.sh"
# shellcheck disable=SC1091 # Beside this file.
. ./packing.sh

SETTLE_MS=2000 WATCH_MS=2000

settle() { usleep $((SETTLE_MS * 1000)); }

# As many tasks as CPUs in a list; each begins on the worst CPUs, then may run anywhere.
start_tasks() {
	for _ in $1; do
		background ./ring 1 "$WORST"
		TASKS="$TASKS $job"
	done
	usleep 500000
	# shellcheck disable=SC2086 # Process numbers are words.
	./ring free $TASKS
}

# watch CPULIST: leaves the share of their run time that the tasks spend there in $share.
watch() {
	# shellcheck disable=SC2086 # Process numbers are words.
	share=$(share_of "$(./ring watch "$1" $WATCH_MS $TASKS)")
	echo "# tasks$TASKS: $share basis points on $1"
}
# Once they have settled: on a busy host that takes its time.
all_on() {
	for _ in 1 2 3 4 5; do
		watch "$1"
		[ "$share" -lt 9900 ] || return 0
	done
	return 1
}
# Neither idle nor with two tasks of the number that there are.
one_each() {
	even=$((10000 / $(echo "$1" | wc -w)))
	for core in $1; do
		watch "$core"
		[ "$share" -ge $((even * 3 / 4)) ] && [ "$share" -le $((even * 5 / 4)) ] || return 1
	done
}

# The cores of the CPUs in a list, each as the list of its CPUs.
cores() {
	for cpu in $(echo "$1" | tr , ' '); do
		cat "$CPUS/cpu$cpu/topology/thread_siblings_list"
	done | sort -u
}
# The same ranks the other way round: what was best is worst.
rank_backwards() { rank "$(lpar ranks | while read -r cpu priority; do echo "$((ALL - 1 - cpu)) $priority"; done)"; }
mirrored() { for cpu in $(echo "$1" | tr , ' '); do echo $((ALL - 1 - cpu)); done | paste -sd, -; }

load corefold_lab_pack || { ktap_skip_all "corefold_lab_pack does not load"; exit "$KSFT_SKIP"; }
high=$(lpar vert-high) medium=$(lpar vert-medium) low=$(lpar vert-low) WORST=$((ALL - 1))
if [ -n "$low" ]; then plan 7; else plan 6; fi
best=$(cores "$high")
check "ranks are taken" rank_lpar
check "levels are taken" pack_on MC,PKG

start_tasks "$best"
settle
check "as many tasks as there are best cores run on these" all_on "$high"
check "one on each" one_each "$best"

rebuilds=$(cat $PACK/rebuilds)
rank_backwards
settle
check "when ranks change they follow" all_on "$(mirrored "$high")"
check "without domains being rebuilt" test "$(cat $PACK/rebuilds)" = "$rebuilds"
rank_lpar

if [ -n "$low" ]; then
	start_tasks "$(cores "$medium")"
	settle
	check "one more for each medium core leaves the low ones idle" all_on "$high,$medium"
fi
echo release >$PACK/priority
unload corefold_lab_pack
finish
