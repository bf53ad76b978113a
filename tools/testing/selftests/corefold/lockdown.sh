#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Under lockdown what only shows can still be read. Lockdown cannot be taken back: run this last.

. "$(dirname "$0")/corefold.sh"
LOCKDOWN=/sys/kernel/security/lockdown
mountpoint -q /sys/kernel/security || mount -t securityfs none /sys/kernel/security 2>/dev/null

all_readable() {
	for name in $SHOWN; do
		cat "$COREFOLD/$name" >/dev/null || return 1
	done
}
writable() { [ "$(./load write $COREFOLD/confirm 3)" = 0 ]; }

[ -e $LOCKDOWN ] || { ktap_skip_all "no lockdown"; exit "$KSFT_SKIP"; }
plan 9
load_fast
check "knobs can be written before" writable
for level in integrity confidentiality; do
	echo $level >$LOCKDOWN
	check "$level: is in force" grep -q "\[$level\]" $LOCKDOWN
	check "$level: what only shows can be read" all_readable
	check "$level: knobs cannot be written" not writable
done
check "status shows it running" state_is running
check "unloads" unload corefold
finish
