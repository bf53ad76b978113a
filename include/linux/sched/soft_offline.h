/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_SOFT_OFFLINE_H
#define _LINUX_SCHED_SOFT_OFFLINE_H

/*
 * Soft offline: a set of CPUs that stay online and active, but that tasks leave if they may run
 * elsewhere. See Documentation/scheduler/sched-soft-offline.rst.
 */

#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/jump_label.h>

#ifdef CONFIG_SCHED_SOFT_OFFLINE

/* Written by kernel/sched/soft_offline.c only; always a subset of cpu_active_mask. */
extern struct cpumask __cpu_soft_offline_mask;
#define cpu_soft_offline_mask ((const struct cpumask *)&__cpu_soft_offline_mask)

/* True while any CPU is soft offline. */
DECLARE_STATIC_KEY_FALSE(sched_soft_offline_used);

/**
 * cpu_soft_offline() - whether a CPU is soft offline
 * @cpu: the CPU
 *
 * Costs a patched-out branch while no CPU is.
 *
 * Return: true if tasks that may run elsewhere should.
 */
static __always_inline bool cpu_soft_offline(int cpu)
{
	return static_branch_unlikely(&sched_soft_offline_used) &&
	       cpumask_test_cpu(cpu, cpu_soft_offline_mask);
}

int sched_soft_offline_claim(void);
void sched_soft_offline_release(void);
int sched_soft_offline_set(const struct cpumask *mask);
void sched_soft_offline_read(struct cpumask *mask);
void sched_soft_offline_eligible(struct cpumask *mask);
void sched_soft_offline_domain(int cpu, struct cpumask *mask);
unsigned long sched_soft_offline_shrinks(void);
bool sched_soft_offline_bypassed(void);

#else /* !CONFIG_SCHED_SOFT_OFFLINE */

static __always_inline bool cpu_soft_offline(int cpu)
{
	return false;
}

#endif /* CONFIG_SCHED_SOFT_OFFLINE */

#endif /* _LINUX_SCHED_SOFT_OFFLINE_H */
