#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0
#
# splats.sh LOG...: fail, and print the place, if a kernel log holds a warning, a bug, a lockdep, RCU or KASAN report.

PATTERN='WARNING:|BUG:|BUG at|Oops|Kernel panic|general protection|INFO: task .* blocked|INFO: rcu|rcu:.*(stall|detected)|suspicious RCU|possible (recursive|circular|irq)|inconsistent lock state|bad unlock balance|held lock|KASAN|UBSAN|Call Trace:|scheduling while atomic|sleeping function|refcount_t:|list_(add|del) corruption|soft lockup|hard LOCKUP|unregister_netdevice|lockup on CPU|workqueue: .* hogged|rust_kernel: panicked|^\[[^]]*\] Modules linked in'

status=0
for log; do
	if hits=$(grep -anE -m 5 "$PATTERN" "$log"); then
		printf '%s: the kernel complained:\n%s\n' "$log" "$hits" >&2
		status=1
	fi
done
exit $status
