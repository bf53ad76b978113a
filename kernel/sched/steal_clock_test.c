// SPDX-License-Identifier: GPL-2.0
/*
 * A steal clock that reads plain memory, so that a test can say what was
 * stolen.
 *
 * An emulator has no steal clock. This one returns what somebody, perhaps the
 * host, writes to an array. No code of a module ever runs in it, so that the
 * module which owns the array can go at any time.
 */

#include <linux/kernel_stat.h>
#include <linux/sched/cputime.h>
#include <linux/sched/steal_clock_test.h>
#include <linux/static_call.h>

#include "sched.h"

static DEFINE_MUTEX(steal_clock_mutex);
static const u64 *steal_clock_array;

/* What asks it: the clock of the architecture, or its accounting. */
DEFINE_STATIC_KEY_FALSE(sched_steal_clock_test_key);

/**
 * sched_steal_clock_test() - the steal clock of a CPU
 * @cpu: a possible CPU
 *
 * Only with interrupts off, and while sched_steal_clock_test_used().
 *
 * Return: stolen time since some point of the past, in ns.
 */
u64 sched_steal_clock_test(int cpu)
{
	return READ_ONCE(steal_clock_array[cpu]);
}

#ifdef CONFIG_PARAVIRT_TIME_ACCOUNTING

#ifdef CONFIG_HAVE_PV_STEAL_CLOCK_GEN
static u64 (*steal_clock_before)(int cpu);

static void steal_clock_replace(void)
{
	steal_clock_before = static_call_query(pv_steal_clock);
	static_call_update(pv_steal_clock, sched_steal_clock_test);
}

static void steal_clock_restore(void)
{
	static_call_update(pv_steal_clock, steal_clock_before);
}
#else
static void steal_clock_replace(void) {}
static void steal_clock_restore(void) {}
#endif

/* An emulator may have a clock that stands still, which can be talked over. */
static bool steal_clock_exists(void)
{
	int cpu;

	if (!static_key_enabled(&paravirt_steal_enabled))
		return false;
	if (IS_ENABLED(CONFIG_HAVE_PV_STEAL_CLOCK_GEN))
		return true;

	guard(cpus_read_lock)();
	for_each_online_cpu(cpu) {
		if (paravirt_steal_clock(cpu))
			return true;
	}
	return false;
}

/* Another clock must not look like a leap of the one before. */
static void steal_clock_resync(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		guard(rq_lock_irqsave)(rq);
		rq->prev_steal_time = paravirt_steal_clock(cpu);
		rq->prev_steal_time_rq = rq->prev_steal_time;
	}
}

static void steal_clock_start(void)
{
	static_branch_enable(&sched_steal_clock_test_key);
	steal_clock_replace();
	steal_clock_resync();
	static_key_slow_inc(&paravirt_steal_enabled);
	static_key_slow_inc(&paravirt_steal_rq_enabled);
}

static void steal_clock_stop(void)
{
	static_key_slow_dec(&paravirt_steal_rq_enabled);
	static_key_slow_dec(&paravirt_steal_enabled);
	/* Readers have interrupts off. */
	synchronize_rcu();
	steal_clock_restore();
	static_branch_disable(&sched_steal_clock_test_key);
	steal_clock_resync();
}

#else /* !CONFIG_PARAVIRT_TIME_ACCOUNTING */

/* Up to where the clock of a CPU has been accounted. */
static DEFINE_PER_CPU(u64, steal_clock_taken);

/**
 * sched_steal_clock_test_take() - stolen time that was not taken before
 * @max_ns: how much of it to take at most; the rest stays for the next time
 *
 * For an accounting that finds out by itself what was stolen; on this CPU, with
 * interrupts off, and while sched_steal_clock_test_used().
 *
 * Return: stolen time in ns.
 */
u64 sched_steal_clock_test_take(u64 max_ns)
{
	s64 ns = sched_steal_clock_test(smp_processor_id()) - __this_cpu_read(steal_clock_taken);

	ns = clamp(ns, 0, (s64)max_ns);
	__this_cpu_add(steal_clock_taken, ns);
	return ns;
}

static bool steal_clock_exists(void)
{
	return false;
}

static void steal_clock_start(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(steal_clock_taken, cpu) = sched_steal_clock_test(cpu);
	static_branch_enable(&sched_steal_clock_test_key);
}

static void steal_clock_stop(void)
{
	static_branch_disable(&sched_steal_clock_test_key);
	/* Readers have interrupts off. */
	synchronize_rcu();
}

#endif /* CONFIG_PARAVIRT_TIME_ACCOUNTING */

/**
 * sched_steal_clock_test_claim() - make an array the steal clock
 * @ns_per_cpu: stolen time since some point of the past for each possible CPU,
 *   in ns
 *
 * Return: 0, or -EBUSY if there is a steal clock, either a real one or another
 * test's.
 */
int sched_steal_clock_test_claim(const u64 *ns_per_cpu)
{
	guard(mutex)(&steal_clock_mutex);

	if (steal_clock_array || steal_clock_exists())
		return -EBUSY;

	steal_clock_array = ns_per_cpu;
	steal_clock_start();
	return 0;
}
EXPORT_SYMBOL_GPL(sched_steal_clock_test_claim);

/**
 * sched_steal_clock_test_release() - be without a steal clock again
 *
 * Only for who claimed it. Nothing reads the array when this returns.
 */
void sched_steal_clock_test_release(void)
{
	guard(mutex)(&steal_clock_mutex);

	steal_clock_stop();
	steal_clock_array = NULL;
}
EXPORT_SYMBOL_GPL(sched_steal_clock_test_release);

/**
 * sched_steal_clock_test_account() - falsify what was accounted
 * @cpu: a possible CPU
 * @ns: what to add to its CPUTIME_STEAL; negative to take away
 */
void sched_steal_clock_test_account(int cpu, s64 ns)
{
	kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL] += ns;
}
EXPORT_SYMBOL_GPL(sched_steal_clock_test_account);

/**
 * sched_steal_clock_test_irq_load() - what the balancer takes off a CPU
 * @cpu: a possible CPU
 *
 * Return: load average of interrupts, and of stolen time where that lowers
 * capacity, of SCHED_CAPACITY_SCALE.
 */
unsigned long sched_steal_clock_test_irq_load(int cpu)
{
	return cpu_util_irq(cpu_rq(cpu));
}
EXPORT_SYMBOL_GPL(sched_steal_clock_test_irq_load);
