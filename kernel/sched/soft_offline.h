/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_SCHED_SOFT_OFFLINE_H
#define _KERNEL_SCHED_SOFT_OFFLINE_H

/*
 * Soft offline, as the scheduler itself sees it: included at the end of
 * sched.h.
 */

#include <linux/sched/soft_offline.h>

#ifdef CONFIG_SCHED_SOFT_OFFLINE

int __sched_soft_offline_select(struct task_struct *p, const struct cpumask *allowed, int cpu);
bool __sched_soft_offline_covers(const struct cpumask *mask, const struct cpumask *allowed);
bool __sched_soft_offline_tick(struct rq *rq);
void sched_soft_offline_evacuate(int cpu);
void sched_soft_offline_activate(int cpu);
void sched_soft_offline_deactivate(int cpu);
void sched_soft_offline_recheck(void);

/**
 * sched_soft_offline_select() - correct the choice of a CPU
 * @p: the task that the CPU was chosen for
 * @allowed: the CPUs that @p may run on
 * @cpu: the chosen CPU
 *
 * Never changes the task's affinity, and never fails: a task that has nowhere
 * else to go gets @cpu. Interrupts are off, and @allowed is stable.
 *
 * Return: @cpu, or if that is soft offline and @p may run elsewhere, a CPU
 * there.
 */
static __always_inline int
sched_soft_offline_select(struct task_struct *p, const struct cpumask *allowed, int cpu)
{
	if (cpu_soft_offline(cpu))
		return __sched_soft_offline_select(p, allowed, cpu);
	return cpu;
}

/**
 * sched_soft_offline_tick() - look for late arrivals
 * @rq: the runqueue of this CPU, locked
 *
 * Return: true if sched_soft_offline_evacuate() has something to do, once @rq
 * is unlocked.
 */
static __always_inline bool sched_soft_offline_tick(struct rq *rq)
{
	return cpu_soft_offline(cpu_of(rq)) && __sched_soft_offline_tick(rq);
}

/**
 * sched_soft_offline_account() - count how often a task left a soft offline CPU
 * @p: the task, about to migrate
 */
static __always_inline void sched_soft_offline_account(struct task_struct *p)
{
	if (cpu_soft_offline(task_cpu(p)))
		p->nr_migrations_soft_offline++;
}

/**
 * sched_soft_offline_exclude() - take soft offline CPUs out of a mask
 * @mask: the mask
 */
static __always_inline void sched_soft_offline_exclude(struct cpumask *mask)
{
	if (static_branch_unlikely(&sched_soft_offline_used))
		cpumask_andnot(mask, mask, cpu_soft_offline_mask);
}

/**
 * sched_soft_offline_covers() - whether a task finds only soft offline CPUs in
 * a mask
 * @mask: the mask
 * @allowed: the CPUs that the task may run on
 *
 * Return: true if it finds no other, or none at all.
 */
static __always_inline bool
sched_soft_offline_covers(const struct cpumask *mask, const struct cpumask *allowed)
{
	return static_branch_unlikely(&sched_soft_offline_used) &&
	       __sched_soft_offline_covers(mask, allowed);
}

/**
 * sched_soft_offline_exclude_for() - take soft offline CPUs out of a mask if a
 * task has others
 * @p: the task
 * @mask: the mask
 */
static __always_inline void sched_soft_offline_exclude_for(struct task_struct *p,
							   struct cpumask *mask)
{
	if (static_branch_unlikely(&sched_soft_offline_used) &&
	    !__sched_soft_offline_covers(cpu_active_mask, p->cpus_ptr))
		cpumask_andnot(mask, mask, cpu_soft_offline_mask);
}

/**
 * sched_soft_offline_weight() - how many CPUs of a mask are soft offline
 * @mask: the mask
 *
 * Return: their number.
 */
static __always_inline unsigned int sched_soft_offline_weight(const struct cpumask *mask)
{
	if (static_branch_unlikely(&sched_soft_offline_used))
		return cpumask_weight_and(mask, cpu_soft_offline_mask);
	return 0;
}

#else /* !CONFIG_SCHED_SOFT_OFFLINE */

static __always_inline int
sched_soft_offline_select(struct task_struct *p, const struct cpumask *allowed, int cpu)
{
	return cpu;
}

static __always_inline bool sched_soft_offline_tick(struct rq *rq)
{
	return false;
}

static __always_inline unsigned int sched_soft_offline_weight(const struct cpumask *mask)
{
	return 0;
}

static __always_inline bool
sched_soft_offline_covers(const struct cpumask *mask, const struct cpumask *allowed)
{
	return false;
}

static __always_inline void sched_soft_offline_exclude_for(struct task_struct *p,
							   struct cpumask *mask) { }
static __always_inline void sched_soft_offline_exclude(struct cpumask *mask) { }
static __always_inline void sched_soft_offline_account(struct task_struct *p) { }
static inline void sched_soft_offline_evacuate(int cpu) { }
static inline void sched_soft_offline_activate(int cpu) { }
static inline void sched_soft_offline_deactivate(int cpu) { }
static inline void sched_soft_offline_recheck(void) { }

#endif /* CONFIG_SCHED_SOFT_OFFLINE */

#endif /* _KERNEL_SCHED_SOFT_OFFLINE_H */
