/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_STEAL_CAPACITY_H
#define _LINUX_SCHED_STEAL_CAPACITY_H

/*
 * Steal capacity: whether stolen time lowers the capacity that the load
 * balancer sees. See Documentation/scheduler/sched-steal-capacity.rst.
 */

#include <linux/jump_label.h>
#include <linux/types.h>

#ifdef CONFIG_SCHED_STEAL_CAPACITY

/* True while claimed: steal stays out of the load average of interrupts. */
DECLARE_STATIC_KEY_FALSE(sched_steal_capacity_claimed);

static __always_inline bool sched_steal_lowers_capacity(void)
{
	return !static_branch_unlikely(&sched_steal_capacity_claimed);
}

int sched_steal_capacity_claim(void);
void sched_steal_capacity_release(void);
bool sched_steal_capacity_supported(void);

#else /* !CONFIG_SCHED_STEAL_CAPACITY */

static __always_inline bool sched_steal_lowers_capacity(void)
{
	return true;
}

#endif /* CONFIG_SCHED_STEAL_CAPACITY */

#endif /* _LINUX_SCHED_STEAL_CAPACITY_H */
