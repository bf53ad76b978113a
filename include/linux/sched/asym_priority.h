/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_ASYM_PRIORITY_H
#define _LINUX_SCHED_ASYM_PRIORITY_H

/*
 * Asym priority: which CPUs asym packing fills first, and on which levels of the topology it does.
 * Also what the domains of a CPU look like. See Documentation/scheduler/sched-asym-priority.rst.
 *
 * All of these may sleep, except that sched_asym_priority(), sched_asym_priority_arch(),
 * sched_cpu_capacity() and sched_domain_read() do not.
 */

#include <linux/cpumask.h>
#include <linux/types.h>

/* The longest name of a level of the topology, with its NUL. */
#define SCHED_DOMAIN_NAME_LEN	16

/**
 * struct sched_domain_info - one scheduling domain of a CPU
 * @name: the name of its level, for instance "MC"
 * @flags: its SD_* flags
 * @prefer_cpu: the CPU that asym packing prefers in the group of that CPU, or
 *	-1 if the domain does not have SD_ASYM_PACKING
 */
struct sched_domain_info {
	char		name[SCHED_DOMAIN_NAME_LEN];
	unsigned int	flags;
	int		prefer_cpu;
};

#ifdef CONFIG_SCHED_ASYM_PRIORITY

int sched_asym_priority_claim(void);
void sched_asym_priority_release(void);
int sched_asym_priority_set(int cpu, int priority);
int sched_asym_priority_set_levels(const char *levels);
bool sched_asym_priority_has_levels(const char *levels);

int sched_asym_priority(int cpu);
int sched_asym_priority_arch(int cpu);
unsigned long sched_asym_priority_rebuilds(void);

unsigned int sched_cpu_capacity(int cpu);
int sched_domain_read(int cpu, unsigned int depth, struct sched_domain_info *info,
		      struct cpumask *span);

#endif /* CONFIG_SCHED_ASYM_PRIORITY */

#endif /* _LINUX_SCHED_ASYM_PRIORITY_H */
