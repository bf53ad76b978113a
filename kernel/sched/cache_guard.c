// SPDX-License-Identifier: GPL-2.0
/*
 * Cache guard: who wins where asym packing and cache-aware scheduling disagree.
 *
 * Cache-aware scheduling gathers the threads of a process in the last level
 * cache that most of them run in already. Asym packing fills the best CPUs
 * first. Where the best CPUs are all behind one cache, threads that began behind
 * another are wanted in both, and the load balancer has to decide. This makes
 * the decision a policy, and counts it.
 *
 * The policy is plain data, read behind a static key, at places that are
 * reached only if cache-aware scheduling is active. See
 * Documentation/scheduler/sched-cache-guard.rst.
 *
 * Written under sched_domains_mutex.
 */

#include <linux/sched/cache_guard.h>

#include "sched.h"

DEFINE_STATIC_KEY_FALSE(sched_cache_guard_used);

enum sched_cache_guard sched_cache_guard_policy __read_mostly = SCHED_CACHE_GUARD_KERNEL;
unsigned int sched_cache_guard_gap __read_mostly;

/* For each CPU, the highest priority of a usable CPU that shares its last level cache. */
DEFINE_PER_CPU(int, sched_cache_guard_best);

DEFINE_PER_CPU(struct sched_cache_guard_counts, sched_cache_guard_counts);

static bool cache_guard_claimed;

/* === The best CPU of each cache === */

static void cache_guard_write_best(const struct cpumask *llc)
{
	int cpu, best = INT_MIN;

	for_each_cpu(cpu, llc) {
		if (cpu_active(cpu) && !cpu_soft_offline(cpu))
			best = max(best, sched_cpu_priority(cpu));
	}
	for_each_cpu(cpu, llc)
		WRITE_ONCE(per_cpu(sched_cache_guard_best, cpu), best);
}

void __sched_cache_guard_recheck_llc(int cpu)
{
	struct sched_domain *sd;

	guard(rcu)();
	sd = rcu_dereference_all(per_cpu(sd_llc, cpu));
	cache_guard_write_best(sd ? sched_domain_span(sd) : cpumask_of(cpu));
}

/**
 * sched_cache_guard_recheck() - find the best CPU of each cache again
 *
 * The domains are others, or the soft offline CPUs, or all priorities. The
 * caller has sched_domains_mutex.
 */
void sched_cache_guard_recheck(void)
{
	struct sched_domain *sd;
	int cpu;

	lockdep_assert_held(&sched_domains_mutex);

	if (!static_key_enabled(&sched_cache_guard_used))
		return;

	guard(rcu)();
	for_each_online_cpu(cpu) {
		sd = rcu_dereference_all(per_cpu(sd_llc, cpu));
		if (!sd || cpu == cpumask_first(sched_domain_span(sd)))
			__sched_cache_guard_recheck_llc(cpu);
	}
}

/* === The policy === */

/**
 * sched_cache_guard_claim() - become the one who decides between asym packing
 * and the cache
 *
 * The policy begins as SCHED_CACHE_GUARD_KERNEL, and the counts as zero. May
 * sleep.
 *
 * Return: 0, or -EBUSY if somebody else does.
 */
int sched_cache_guard_claim(void)
{
	int cpu;

	guard(sched_domains)();

	if (cache_guard_claimed)
		return -EBUSY;
	cache_guard_claimed = true;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&sched_cache_guard_counts, cpu), 0,
		       sizeof(sched_cache_guard_counts));
	return 0;
}
EXPORT_SYMBOL_GPL(sched_cache_guard_claim);

static void cache_guard_write(enum sched_cache_guard policy, unsigned int gap)
{
	lockdep_assert_cpus_held();
	lockdep_assert_held(&sched_domains_mutex);

	WRITE_ONCE(sched_cache_guard_policy, policy);
	WRITE_ONCE(sched_cache_guard_gap, gap);
	if (policy == SCHED_CACHE_GUARD_KERNEL) {
		static_branch_disable_cpuslocked(&sched_cache_guard_used);
		return;
	}
	static_branch_enable_cpuslocked(&sched_cache_guard_used);
	sched_cache_guard_recheck();
}

/**
 * sched_cache_guard_set() - decide who wins
 * @policy: see enum sched_cache_guard
 * @gap: by how much priorities must differ for asym packing to win, and for
 *	SCHED_CACHE_GUARD_STRICT to keep a task; 0 and 1 both mean at all
 *
 * Has no effect while sched_cache_guard_present() is false, or on levels of the
 * topology that do not have SD_ASYM_PACKING. May sleep; not for a CPU hotplug
 * callback.
 *
 * Return: 0; or with nothing changed, -EPERM if unclaimed, -EINVAL if there is
 * no such policy, or if @gap is larger than INT_MAX.
 */
int sched_cache_guard_set(enum sched_cache_guard policy, unsigned int gap)
{
	if ((unsigned int)policy > SCHED_CACHE_GUARD_LLC || gap > INT_MAX)
		return -EINVAL;

	guard(cpus_read_lock)();
	guard(sched_domains)();

	if (!cache_guard_claimed)
		return -EPERM;
	cache_guard_write(policy, gap);
	return 0;
}
EXPORT_SYMBOL_GPL(sched_cache_guard_set);

/**
 * sched_cache_guard_release() - leave the decision to the kernel again
 *
 * Only for who claimed it. May sleep; not for a CPU hotplug callback.
 */
void sched_cache_guard_release(void)
{
	guard(cpus_read_lock)();
	guard(sched_domains)();

	cache_guard_write(SCHED_CACHE_GUARD_KERNEL, 0);
	cache_guard_claimed = false;
}
EXPORT_SYMBOL_GPL(sched_cache_guard_release);

/* Whether the domain above the one of a cache has CPUs of others, on the same node. */
static bool cache_guard_llc_has_peers(int cpu)
{
	struct sched_domain *sd = rcu_dereference_all(per_cpu(sd_llc, cpu));

	return sd && sd->parent && !(sd->parent->flags & SD_NUMA);
}

/**
 * sched_cache_guard_present() - whether there is anything to decide
 *
 * Cache-aware scheduling gathers tasks in one of several caches. Between NUMA
 * nodes asym packing is never done, so there have to be several on one node.
 * May change whenever domains are rebuilt. Does not sleep.
 *
 * Return: true if cache-aware scheduling is present, and some NUMA node has
 * more than one last level cache that tasks can be balanced between.
 */
bool sched_cache_guard_present(void)
{
	int cpu;

	if (!static_key_enabled(&sched_cache_present))
		return false;

	guard(rcu)();
	for_each_online_cpu(cpu) {
		if (cache_guard_llc_has_peers(cpu))
			return true;
	}
	return false;
}
EXPORT_SYMBOL_GPL(sched_cache_guard_present);

/**
 * sched_cache_guard_read() - how often the guard had the last word
 * @counts: where to put the numbers, since sched_cache_guard_claim()
 */
void sched_cache_guard_read(struct sched_cache_guard_counts *counts)
{
	const struct sched_cache_guard_counts *c;
	int cpu;

	*counts = (struct sched_cache_guard_counts){};
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(&sched_cache_guard_counts, cpu);
		counts->asym_wins += READ_ONCE(c->asym_wins);
		counts->llc_wins += READ_ONCE(c->llc_wins);
		counts->kept_up += READ_ONCE(c->kept_up);
	}
}
EXPORT_SYMBOL_GPL(sched_cache_guard_read);
