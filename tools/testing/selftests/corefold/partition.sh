#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The module keeps a core in each cpuset partition, and leaves isolated ones alone.

. "$(dirname "$0")/corefold.sh"
GROUP=/sys/fs/cgroup/corefold-partition
last=$((ALL - 1))
core=$(cat $CPUS/cpu$last/topology/thread_siblings_list)
in_mask() { ./load covers "$(mask)" "$1"; }
make_partition() {
	echo "$1" >$GROUP/cpuset.cpus.partition && [ "$(cat $GROUP/cpuset.cpus.partition)" = "$1" ]
}

plan 9
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p $GROUP
echo "$core" >$GROUP/cpuset.cpus
load_fast
cores=$(status active_cores)
start_load
start_steal 60
check "folds all but one core" until_true 20 active_is 1
check "the last core among them" in_mask "$core"
check "a partition is made of it" make_partition root
check "it gets its core back, and keeps it" until_true 5 not in_mask "$core"
check "still so after some samples" for_long 2 not in_mask "$core"
check "an isolated one as well" make_partition isolated
check "it is left alone" for_long 2 not in_mask "$core"
check "the partition goes" make_partition member
check "its core is folded again" until_true 20 in_mask "$core"
stop_steal
rmdir $GROUP
until_true 30 active_is "$cores"
finish
