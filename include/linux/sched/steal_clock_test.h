/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_STEAL_CLOCK_TEST_H
#define _LINUX_SCHED_STEAL_CLOCK_TEST_H

/*
 * A steal clock that reads plain memory, so that a test can say what was
 * stolen. Never enable this in production.
 */

#include <linux/types.h>

#ifdef CONFIG_SCHED_STEAL_CLOCK_TEST

int sched_steal_clock_test_claim(const u64 *ns_per_cpu);
void sched_steal_clock_test_release(void);
void sched_steal_clock_test_account(int cpu, s64 ns);

#endif /* CONFIG_SCHED_STEAL_CLOCK_TEST */

#endif /* _LINUX_SCHED_STEAL_CLOCK_TEST_H */
