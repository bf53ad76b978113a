/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_SCHED_CACHE_GUARD_H
#define _KERNEL_SCHED_CACHE_GUARD_H

/*
 * Cache guard, as the scheduler itself sees it: included at the end of sched.h.
 */

#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/sched/cache_guard.h>

#ifdef CONFIG_SCHED_CACHE_GUARD

/* True while a policy other than SCHED_CACHE_GUARD_KERNEL is in force. */
DECLARE_STATIC_KEY_FALSE(sched_cache_guard_used);

/* Written by kernel/sched/cache_guard.c only. */
extern enum sched_cache_guard sched_cache_guard_policy;
extern unsigned int sched_cache_guard_gap;
DECLARE_PER_CPU(int, sched_cache_guard_best);
DECLARE_PER_CPU(struct sched_cache_guard_counts, sched_cache_guard_counts);

void __sched_cache_guard_recheck_llc(int cpu);
void sched_cache_guard_recheck(void);

static __always_inline bool sched_cache_guard_in_force(void)
{
	return static_branch_unlikely(&sched_cache_guard_used);
}

/**
 * sched_cache_guard_asym_first() - whether asym packing wins over the cache
 * @dst_cpu: the CPU that asym packing wants to move a task to
 * @src_cpu: the CPU that it is on
 *
 * Return: true if a preference for the cache of @src_cpu does not count.
 */
static __always_inline bool sched_cache_guard_asym_first(int dst_cpu, int src_cpu)
{
	long gap;

	if (!sched_cache_guard_in_force())
		return true;
	if (READ_ONCE(sched_cache_guard_policy) == SCHED_CACHE_GUARD_LLC)
		return false;

	/* It may also want to relieve a core with several busy siblings, which has no gap. */
	gap = (long)sched_cpu_priority(dst_cpu) - sched_cpu_priority(src_cpu);
	return gap <= 0 || gap >= READ_ONCE(sched_cache_guard_gap);
}

/**
 * sched_cache_guard_asym_wins() - decide for asym packing or the cache, and
 * count that
 * @dst_cpu: the CPU that asym packing wants to move a task to
 * @src_cpu: the CPU that it is on
 *
 * Return: as sched_cache_guard_asym_first().
 */
static __always_inline bool sched_cache_guard_asym_wins(int dst_cpu, int src_cpu)
{
	if (!sched_cache_guard_in_force())
		return true;
	if (sched_cache_guard_asym_first(dst_cpu, src_cpu)) {
		this_cpu_inc(sched_cache_guard_counts.asym_wins);
		return true;
	}
	this_cpu_inc(sched_cache_guard_counts.llc_wins);
	return false;
}

/**
 * sched_cache_guard_outranks() - whether a group that asym packing wants to
 * pull from comes before one that the cache does
 * @dst_cpu: the CPU that pulls
 * @src_cpu: the CPU of the group that asym packing compares it with
 *
 * Return: true if it does, unlike in the kernel alone.
 */
static __always_inline bool sched_cache_guard_outranks(int dst_cpu, int src_cpu)
{
	return sched_cache_guard_in_force() && sched_cache_enabled() &&
	       sched_cache_guard_asym_first(dst_cpu, src_cpu);
}

/**
 * sched_cache_guard_keeps_up() - whether a task should stay where the CPUs are
 * better
 * @sd: the domain that is balanced
 * @dst_cpu: a CPU of the cache that it would go to
 * @src_cpu: a CPU of the cache that it comes from
 *
 * Return: true if asym packing is done in @sd, and the best CPU of @src_cpu's
 * cache has a higher priority than the best one of @dst_cpu's.
 */
static __always_inline bool
sched_cache_guard_keeps_up(struct sched_domain *sd, int dst_cpu, int src_cpu)
{
	long gap;

	if (!sched_cache_guard_in_force() ||
	    READ_ONCE(sched_cache_guard_policy) != SCHED_CACHE_GUARD_STRICT ||
	    !(sd->flags & SD_ASYM_PACKING))
		return false;

	gap = (long)READ_ONCE(per_cpu(sched_cache_guard_best, src_cpu)) -
	      READ_ONCE(per_cpu(sched_cache_guard_best, dst_cpu));
	return gap > 0 && gap >= READ_ONCE(sched_cache_guard_gap);
}

/**
 * sched_cache_guard_kept_up() - count that a task was not pulled, as
 * sched_cache_guard_keeps_up() says
 */
static __always_inline void sched_cache_guard_kept_up(void)
{
	this_cpu_inc(sched_cache_guard_counts.kept_up);
}

/**
 * sched_cache_guard_recheck_llc() - find the best CPU of a cache again
 * @cpu: a CPU whose priority has changed
 */
static __always_inline void sched_cache_guard_recheck_llc(int cpu)
{
	if (sched_cache_guard_in_force())
		__sched_cache_guard_recheck_llc(cpu);
}

#else /* !CONFIG_SCHED_CACHE_GUARD */

static __always_inline bool sched_cache_guard_in_force(void)
{
	return false;
}

static __always_inline bool sched_cache_guard_asym_first(int dst_cpu, int src_cpu)
{
	return true;
}

static __always_inline bool sched_cache_guard_asym_wins(int dst_cpu, int src_cpu)
{
	return true;
}

static __always_inline bool sched_cache_guard_outranks(int dst_cpu, int src_cpu)
{
	return false;
}

static __always_inline bool
sched_cache_guard_keeps_up(struct sched_domain *sd, int dst_cpu, int src_cpu)
{
	return false;
}

static inline void sched_cache_guard_kept_up(void) { }
static inline void sched_cache_guard_recheck_llc(int cpu) { }
static inline void sched_cache_guard_recheck(void) { }

#endif /* CONFIG_SCHED_CACHE_GUARD */

#endif /* _KERNEL_SCHED_CACHE_GUARD_H */
