#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# rmmod under load, while folded, and with debugfs files held open.

. "$(dirname "$0")/corefold.sh"
plan 20

folded_unload() {
	load corefold interval_ms=100 || return 1
	start_steal 60
	until_true 20 is_folded || return 1
	unload corefold && is_empty
	result=$?
	stop_steal
	return $result
}

load_lab
start_load
check "rmmod while folded and under load empties the mask" folded_unload
check "again" folded_unload
check "again" folded_unload
# shellcheck disable=SC2046 # Process numbers are words.
spread() { ./load on "$((ALL - 1))" $(pidof load); }
check "tasks use all CPUs again" until_true 10 spread

# While a file is open the module stays.
held_open() {
	load corefold interval_ms=100 || return 1
	rm -f /tmp/fifo
	mkfifo /tmp/fifo
	./load hold "$COREFOLD/$1" </tmp/fifo >/tmp/held &
	holder=$!
	exec 9>/tmp/fifo
	until_true 5 grep -q open /tmp/held || { exec 9>&-; return 1; }
	! rmmod corefold 2>/dev/null
	refused=$?
	loaded corefold
	stays=$?
	exec 9>&-
	wait $holder
	[ $refused = 0 ] && [ $stays = 0 ] && unload corefold && is_empty
}
for name in $SHOWN $KNOBS; do
	[ "$name" != enabled ] || continue
	[ "$name" != policy ] || continue
	[ "$name" != confirm ] || continue
	check "rmmod with $name held open is refused, after it not" held_open "$name"
done

# Files read all the time while the module goes.
reader() {
	while :; do
		for name in $SHOWN; do cat $COREFOLD/$name; done
		./load write $COREFOLD/confirm 3
	done
}
race() {
	load corefold interval_ms=100 || return 1
	usleep 30000
	until_true 5 unload corefold
}
background reader
check "rmmod races with readers and writers" times_do 10 race
finish
