/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_CACHE_GUARD_H
#define _LINUX_SCHED_CACHE_GUARD_H

/*
 * Cache guard: whether asym packing or cache-aware scheduling wins where the two disagree. See
 * Documentation/scheduler/sched-cache-guard.rst.
 */

#include <linux/types.h>

/**
 * enum sched_cache_guard - who wins where asym packing and cache-aware
 * scheduling disagree
 * @SCHED_CACHE_GUARD_KERNEL: whoever does in this kernel without the guard
 * @SCHED_CACHE_GUARD_ASYM: asym packing, also where the kernel alone would let
 *	the cache win
 * @SCHED_CACHE_GUARD_STRICT: asym packing, and a task is not pulled to its
 *	cache if the best CPU there has a lower priority than the best CPU where
 *	it is
 * @SCHED_CACHE_GUARD_LLC: cache-aware scheduling
 */
enum sched_cache_guard {
	SCHED_CACHE_GUARD_KERNEL,
	SCHED_CACHE_GUARD_ASYM,
	SCHED_CACHE_GUARD_STRICT,
	SCHED_CACHE_GUARD_LLC,
};

/**
 * struct sched_cache_guard_counts - how often the guard had the last word
 * @asym_wins: asym packing wanted to move a task to another cache, and the
 *	preference of the task was not asked
 * @llc_wins: asym packing wanted to move a task to another cache, and the
 *	preference of the task decided
 * @kept_up: a task was not pulled to a cache of lower priority
 *
 * Counted while a policy other than SCHED_CACHE_GUARD_KERNEL is in force. One
 * pass of the load balancer may count several times.
 */
struct sched_cache_guard_counts {
	unsigned long	asym_wins;
	unsigned long	llc_wins;
	unsigned long	kept_up;
};

#ifdef CONFIG_SCHED_CACHE_GUARD

int sched_cache_guard_claim(void);
void sched_cache_guard_release(void);
int sched_cache_guard_set(enum sched_cache_guard policy, unsigned int gap);
bool sched_cache_guard_present(void);
void sched_cache_guard_read(struct sched_cache_guard_counts *counts);

#endif /* CONFIG_SCHED_CACHE_GUARD */

#endif /* _LINUX_SCHED_CACHE_GUARD_H */
