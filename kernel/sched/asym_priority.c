// SPDX-License-Identifier: GPL-2.0
/*
 * Asym priority: which CPUs asym packing fills first, and where it does.
 *
 * Architectures rank their CPUs by what the hardware says of them. In a guest
 * that may be nothing, or not what counts: how much of a real CPU stands behind
 * a virtual one is known to the hypervisor or to its administrator. So this
 * lets a driver rank the CPUs, and name the levels of the topology on which the
 * ranking matters.
 *
 * The ranking is plain data: an integer per CPU, read behind a static key. See
 * Documentation/scheduler/sched-asym-priority.rst.
 *
 * Everything that domains are built from is written under sched_domains_mutex.
 * Who changes the levels must drop that to have the domains rebuilt, hence
 * another mutex around it all: asym_priority_mutex, cpus_read_lock(),
 * sched_domains_mutex.
 */

#include <linux/cpuset.h>
#include <linux/sched/asym_priority.h>

#include "sched.h"

DEFINE_STATIC_KEY_FALSE(sched_asym_priority_claimed);

DEFINE_PER_CPU(int, sched_asym_priorities);

static DEFINE_MUTEX(asym_priority_mutex);

/*
 * Bits by the place of a level in the topology, from the bottom. What is below
 * the NUMA levels stays the same once the kernel is up.
 */
static unsigned long asym_levels;

/* Whether the next rebuild of the domains must not keep any. */
static bool asym_must_rebuild;
static unsigned long asym_nr_rebuilds;

/* === The priorities === */

static int asym_priority_best(const struct cpumask *mask)
{
	int cpu, best = cpumask_first(mask);

	for_each_cpu(cpu, mask) {
		if (sched_asym_prefer(cpu, best))
			best = cpu;
	}
	return best;
}

/* All priorities may have changed: find the preferred CPUs as if for new domains. */
static void asym_priority_refresh(void)
{
	struct sched_domain *sd;
	int cpu;

	sched_cache_guard_recheck();

	guard(rcu)();
	for_each_online_cpu(cpu) {
		for_each_domain(cpu, sd) {
			struct sched_group *sg = sd->groups;

			if (sd->flags & SD_ASYM_PACKING)
				WRITE_ONCE(sg->asym_prefer_cpu,
					   asym_priority_best(sched_group_span(sg)));
		}
	}
}

/**
 * sched_asym_priority_claim() - become the one who ranks the CPUs
 *
 * The priorities begin as those of the architecture. May sleep; not for a CPU
 * hotplug callback.
 *
 * Return: 0, or -EBUSY if somebody else does.
 */
int sched_asym_priority_claim(void)
{
	int cpu;

	guard(mutex)(&asym_priority_mutex);
	guard(cpus_read_lock)();
	guard(sched_domains)();

	if (static_key_enabled(&sched_asym_priority_claimed))
		return -EBUSY;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(sched_asym_priorities, cpu), arch_asym_cpu_priority(cpu));
	static_branch_enable_cpuslocked(&sched_asym_priority_claimed);
	return 0;
}
EXPORT_SYMBOL_GPL(sched_asym_priority_claim);

/**
 * sched_asym_priority_set() - rank a CPU
 * @cpu: the CPU, online or not
 * @priority: its priority; the higher, the earlier it is filled
 *
 * Does not rebuild the domains. Running tasks follow as the load balancer finds
 * them, soon. May sleep.
 *
 * Return: 0; or with nothing changed, -EPERM if unclaimed, -EINVAL if @cpu is
 * not possible.
 */
int sched_asym_priority_set(int cpu, int priority)
{
	int old;

	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;

	/* Domains that are being built see either priority. */
	guard(sched_domains)();

	if (!static_key_enabled(&sched_asym_priority_claimed))
		return -EPERM;

	old = per_cpu(sched_asym_priorities, cpu);
	if (old == priority)
		return 0;
	WRITE_ONCE(per_cpu(sched_asym_priorities, cpu), priority);
	sched_update_asym_prefer_cpu(cpu, old, priority);
	return 0;
}
EXPORT_SYMBOL_GPL(sched_asym_priority_set);

/**
 * sched_asym_priority() - the priority of a CPU that the scheduler uses now
 * @cpu: a possible CPU
 *
 * Return: the priority; 0 if @cpu is not possible.
 */
int sched_asym_priority(int cpu)
{
	return cpu_possible(cpu) ? sched_cpu_priority(cpu) : 0;
}
EXPORT_SYMBOL_GPL(sched_asym_priority);

/**
 * sched_asym_priority_arch() - the priority of a CPU that the architecture
 * gives it
 * @cpu: a possible CPU
 *
 * It may change at any time, for instance if the driver of its frequency does
 * that.
 *
 * Return: the priority; 0 if @cpu is not possible.
 */
int sched_asym_priority_arch(int cpu)
{
	return cpu_possible(cpu) ? arch_asym_cpu_priority(cpu) : 0;
}
EXPORT_SYMBOL_GPL(sched_asym_priority_arch);

/* === The levels === */

/* The level that @name names, or -1 if there is none or it is not for asym packing. */
static int asym_level_find(const char *name)
{
	struct sched_domain_topology_level *tl;
	int sd_flags;

	for (tl = sched_topology(); tl->mask; tl++) {
		if (strcmp(tl->name, name))
			continue;
		sd_flags = tl->sd_flags ? tl->sd_flags() : 0;
		if (sd_flags & (SD_NUMA | SD_SHARE_CPUCAPACITY))
			return -1;
		return tl - sched_topology();
	}
	return -1;
}

static int asym_levels_parse(const char *names, unsigned long *levels)
{
	char buf[64], *rest = buf, *name;
	int level;

	*levels = 0;
	if (strscpy(buf, names) < 0)
		return -EINVAL;
	if (!*buf)
		return 0;

	/* NUMA levels come and go with CPU hotplug. */
	guard(cpus_read_lock)();
	while ((name = strsep(&rest, ","))) {
		level = asym_level_find(name);
		if (level < 0)
			return -EINVAL;
		__set_bit(level, levels);
	}
	return 0;
}

static void asym_levels_write(unsigned long levels)
{
	scoped_guard(sched_domains) {
		if (levels == asym_levels)
			return;
		asym_levels = levels;
		asym_must_rebuild = true;
	}
	rebuild_sched_domains();
}

/**
 * sched_asym_priority_set_levels() - name the levels of the topology where asym
 * packing is done
 * @levels: their names with commas between, for instance "MC,PKG"; "" for none
 *
 * These get SD_ASYM_PACKING, in place of those named before; levels that have
 * it from the architecture keep it. Rebuilds the domains, once, if the levels
 * are others than before. May sleep; not for a CPU hotplug callback.
 *
 * Return: 0; or with nothing changed, -EPERM if unclaimed, -EINVAL if there is
 * no level of that name, or if it is one of NUMA nodes or of SMT siblings.
 */
int sched_asym_priority_set_levels(const char *levels)
{
	unsigned long bits;
	int err;

	guard(mutex)(&asym_priority_mutex);

	if (!static_key_enabled(&sched_asym_priority_claimed))
		return -EPERM;
	err = asym_levels_parse(levels, &bits);
	if (!err)
		asym_levels_write(bits);
	return err;
}
EXPORT_SYMBOL_GPL(sched_asym_priority_set_levels);

/**
 * sched_asym_priority_has_levels() - whether there are such levels
 * @levels: as for sched_asym_priority_set_levels(), which would take them
 *
 * Needs no claim. May sleep; not for a CPU hotplug callback.
 *
 * Return: true if all of them can be named.
 */
bool sched_asym_priority_has_levels(const char *levels)
{
	unsigned long bits;

	return !asym_levels_parse(levels, &bits);
}
EXPORT_SYMBOL_GPL(sched_asym_priority_has_levels);

/**
 * sched_asym_priority_rebuilds() - how often a change of the levels had the
 * domains rebuilt
 *
 * Return: how many times since the kernel started.
 */
unsigned long sched_asym_priority_rebuilds(void)
{
	return READ_ONCE(asym_nr_rebuilds);
}
EXPORT_SYMBOL_GPL(sched_asym_priority_rebuilds);

/**
 * sched_asym_priority_release() - leave the ranking to the architecture
 *
 * Its priorities, preferred CPUs and levels are as if nobody had claimed them.
 * Rebuilds the domains, once, if any levels were named. Only for who claimed
 * it. May sleep; not for a CPU hotplug callback.
 */
void sched_asym_priority_release(void)
{
	guard(mutex)(&asym_priority_mutex);

	scoped_guard(cpus_read_lock) {
		guard(sched_domains)();
		static_branch_disable_cpuslocked(&sched_asym_priority_claimed);
		asym_priority_refresh();
	}
	asym_levels_write(0);
}
EXPORT_SYMBOL_GPL(sched_asym_priority_release);

/**
 * sched_asym_level_flags() - what a level of the topology gets from here
 * @tl: the level
 * @sd_flags: the flags that it has already
 *
 * Return: SD_ASYM_PACKING if it was named, else 0.
 */
int sched_asym_level_flags(const struct sched_domain_topology_level *tl, int sd_flags)
{
	int level = tl - sched_topology();

	if (level >= BITS_PER_LONG || !test_bit(level, &asym_levels))
		return 0;
	/* A group of overlapping domains has several copies, which do not know of each other. */
	if (sd_flags & (SD_NUMA | SD_SHARE_CPUCAPACITY))
		return 0;
	return SD_ASYM_PACKING;
}

/**
 * sched_asym_must_rebuild() - whether domains must not be kept although their
 * CPUs are the same
 *
 * Return: true once after a change of the levels.
 */
bool sched_asym_must_rebuild(void)
{
	lockdep_assert_held(&sched_domains_mutex);

	if (!asym_must_rebuild)
		return false;
	asym_must_rebuild = false;
	WRITE_ONCE(asym_nr_rebuilds, asym_nr_rebuilds + 1);
	return true;
}

/* === Looking at domains === */

/**
 * sched_cpu_capacity() - the capacity of a CPU beside the largest one
 * @cpu: a possible CPU
 *
 * Return: at most SCHED_CAPACITY_SCALE, as the architecture says; 0 if @cpu is
 * not possible.
 */
unsigned int sched_cpu_capacity(int cpu)
{
	return cpu_possible(cpu) ? arch_scale_cpu_capacity(cpu) : 0;
}
EXPORT_SYMBOL_GPL(sched_cpu_capacity);

/**
 * sched_domain_read() - look at a scheduling domain
 * @cpu: a possible CPU
 * @depth: which of its domains, from the smallest one, 0
 * @info: where to put what is known about it
 * @span: where to put its CPUs
 *
 * Domains may be rebuilt between two calls. Does not sleep.
 *
 * Return: 0; -ENOENT if @cpu does not have so many, or none since it is offline
 * or isolated; -EINVAL if it is not possible.
 */
int sched_domain_read(int cpu, unsigned int depth, struct sched_domain_info *info,
		      struct cpumask *span)
{
	struct sched_domain *sd;

	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;

	guard(rcu)();
	for_each_domain(cpu, sd) {
		if (depth--)
			continue;
		strscpy_pad(info->name, sd->name);
		info->flags = sd->flags;
		info->prefer_cpu = sd->flags & SD_ASYM_PACKING ?
				   READ_ONCE(sd->groups->asym_prefer_cpu) : -1;
		cpumask_copy(span, sched_domain_span(sd));
		return 0;
	}
	return -ENOENT;
}
EXPORT_SYMBOL_GPL(sched_domain_read);
