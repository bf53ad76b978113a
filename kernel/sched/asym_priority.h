/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KERNEL_SCHED_ASYM_PRIORITY_H
#define _KERNEL_SCHED_ASYM_PRIORITY_H

/*
 * Asym priority, as the scheduler itself sees it.
 */

#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/sched/asym_priority.h>
#include <linux/sched/topology.h>

struct sched_domain_topology_level *sched_topology(void);

#ifdef CONFIG_SCHED_ASYM_PRIORITY

/* Written by kernel/sched/asym_priority.c only. */
DECLARE_STATIC_KEY_FALSE(sched_asym_priority_claimed);
DECLARE_PER_CPU(int, sched_asym_priorities);

int sched_asym_level_flags(const struct sched_domain_topology_level *tl, int sd_flags);
bool sched_asym_must_rebuild(void);

static __always_inline bool sched_asym_priority_used(void)
{
	return static_branch_unlikely(&sched_asym_priority_claimed);
}

/**
 * sched_cpu_priority() - the priority of a CPU for asym packing
 * @cpu: the CPU
 *
 * Return: what the driver says that claimed it, else what the architecture
 * says.
 */
static __always_inline int sched_cpu_priority(int cpu)
{
	if (sched_asym_priority_used())
		return READ_ONCE(per_cpu(sched_asym_priorities, cpu));
	return arch_asym_cpu_priority(cpu);
}

#else /* !CONFIG_SCHED_ASYM_PRIORITY */

static __always_inline bool sched_asym_priority_used(void)
{
	return false;
}

static __always_inline int sched_cpu_priority(int cpu)
{
	return arch_asym_cpu_priority(cpu);
}

static inline int sched_asym_level_flags(const struct sched_domain_topology_level *tl, int sd_flags)
{
	return 0;
}

static inline bool sched_asym_must_rebuild(void)
{
	return false;
}

#endif /* CONFIG_SCHED_ASYM_PRIORITY */

#endif /* _KERNEL_SCHED_ASYM_PRIORITY_H */
