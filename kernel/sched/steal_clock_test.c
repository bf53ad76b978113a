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
static u64 (*steal_clock_before)(int cpu);

static u64 array_steal_clock(int cpu)
{
	return READ_ONCE(steal_clock_array[cpu]);
}

/*
 * Another clock must not look like a leap of the one before. Nobody else
 * touches this: the keys are off.
 */
static void steal_clock_resync(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct rq *rq = cpu_rq(cpu);

		guard(rq_lock_irqsave)(rq);
		rq->prev_steal_time = paravirt_steal_clock(cpu);
#ifdef CONFIG_PARAVIRT_TIME_ACCOUNTING
		rq->prev_steal_time_rq = rq->prev_steal_time;
#endif
	}
}

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

	if (static_key_enabled(&paravirt_steal_enabled))
		return -EBUSY;

	steal_clock_array = ns_per_cpu;
	steal_clock_before = static_call_query(pv_steal_clock);
	static_call_update(pv_steal_clock, array_steal_clock);
	steal_clock_resync();
	static_key_slow_inc(&paravirt_steal_enabled);
	static_key_slow_inc(&paravirt_steal_rq_enabled);
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

	static_key_slow_dec(&paravirt_steal_rq_enabled);
	static_key_slow_dec(&paravirt_steal_enabled);
	/* Readers have interrupts off. */
	synchronize_rcu();
	static_call_update(pv_steal_clock, steal_clock_before);
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
