/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_STEAL_CAPACITY_H
#define _LINUX_SCHED_STEAL_CAPACITY_H

/*
 * Steal capacity: whether stolen time lowers the capacity that the load balancer sees.
 * See Documentation/scheduler/sched-steal-capacity.rst.
 */

#include <linux/types.h>

#ifdef CONFIG_SCHED_STEAL_CAPACITY
int sched_steal_capacity_claim(void);
void sched_steal_capacity_release(void);
bool sched_steal_capacity_supported(void);
#endif

#endif /* _LINUX_SCHED_STEAL_CAPACITY_H */
