#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Soft offline has one owner: a second claim is refused, and the first does not notice.

. "$(dirname "$0")/corefold.sh"
EBUSY=16
lab_folds() { ./load write $LAB/soft_offline "$1"; }

plan 9
last=$((ALL - 1))
load_lab
lab_folds "$(cat $CPUS/cpu$last/topology/thread_siblings_list)" >/dev/null
held=$(mask)
dmesg -c >/dev/null
check "the module does not load while another holds the claim" not load corefold
check "and says why" said 'corefold: .*another driver'
check "the other's mask stays" test -n "$held" -a "$(mask)" = "$held"
lab_folds release >/dev/null
check "it loads after the release" load corefold interval_ms=100
check "another claim is refused" test "$(lab_folds "$last")" = $EBUSY
check "with nothing changed" is_empty
start_load
check "the module works on" folds_and_unfolds
unload corefold
check "its unload frees the claim" test "$(lab_folds "$held")" = 0
lab_folds release >/dev/null
check "unloading is clean" is_empty
finish
