// SPDX-License-Identifier: GPL-2.0
/*
 * Steal capacity: whether stolen time lowers the capacity that the load
 * balancer sees.
 *
 * The load average of interrupts includes stolen time, and the balancer takes
 * both off a CPU's capacity. That is right for interrupts, which stay where
 * they are. But only a busy virtual CPU has time stolen from it, an idle one
 * has none: the idle one looks better, a task moves there, steal follows, and
 * the task moves back. Who answers steal in another way can switch it off here.
 */

#include <linux/export.h>
#include <linux/jump_label.h>
#include <linux/mutex.h>
#include <linux/sched/cputime.h>
#include <linux/sched/steal_capacity.h>

DEFINE_STATIC_KEY_FALSE(sched_steal_capacity_claimed);

static DEFINE_MUTEX(steal_capacity_mutex);

/**
 * sched_steal_capacity_claim() - keep stolen time out of CPU capacity
 *
 * Lasts until sched_steal_capacity_release(). What was added before decays as
 * usual. Stolen time is still kept from tasks: the clock that their run time is
 * measured with stands still meanwhile.
 *
 * Return: 0, also where there is nothing to keep out, or -EBUSY if somebody
 * else has it.
 */
int sched_steal_capacity_claim(void)
{
	guard(mutex)(&steal_capacity_mutex);

	if (static_key_enabled(&sched_steal_capacity_claimed))
		return -EBUSY;

	static_branch_enable(&sched_steal_capacity_claimed);
	return 0;
}
EXPORT_SYMBOL_GPL(sched_steal_capacity_claim);

/**
 * sched_steal_capacity_release() - let stolen time lower CPU capacity again
 *
 * Only for who claimed it.
 */
void sched_steal_capacity_release(void)
{
	guard(mutex)(&steal_capacity_mutex);

	static_branch_disable(&sched_steal_capacity_claimed);
}
EXPORT_SYMBOL_GPL(sched_steal_capacity_release);

/**
 * sched_steal_capacity_supported() - whether stolen time lowers CPU capacity at
 * all
 *
 * Return: true if this kernel would do that while unclaimed.
 */
bool sched_steal_capacity_supported(void)
{
#if defined(CONFIG_PARAVIRT_TIME_ACCOUNTING) && defined(CONFIG_HAVE_SCHED_AVG_IRQ)
	return static_key_enabled(&paravirt_steal_rq_enabled);
#else
	return false;
#endif
}
EXPORT_SYMBOL_GPL(sched_steal_capacity_supported);
