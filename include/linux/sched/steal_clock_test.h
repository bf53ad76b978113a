/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_STEAL_CLOCK_TEST_H
#define _LINUX_SCHED_STEAL_CLOCK_TEST_H

/*
 * A steal clock that reads plain memory, so that a test can say what was
 * stolen. Never enable this in production.
 */

#include <linux/jump_label.h>
#include <linux/types.h>

#ifdef CONFIG_SCHED_STEAL_CLOCK_TEST

DECLARE_STATIC_KEY_FALSE(sched_steal_clock_test_key);

static inline bool sched_steal_clock_test_used(void)
{
	return static_branch_unlikely(&sched_steal_clock_test_key);
}

u64 sched_steal_clock_test(int cpu);
u64 sched_steal_clock_test_take(u64 max_ns);

int sched_steal_clock_test_claim(const u64 *ns_per_cpu);
void sched_steal_clock_test_release(void);
void sched_steal_clock_test_account(int cpu, s64 ns);
unsigned long sched_steal_clock_test_irq_load(int cpu);

#else /* !CONFIG_SCHED_STEAL_CLOCK_TEST */

static inline bool sched_steal_clock_test_used(void) { return false; }
static inline u64 sched_steal_clock_test(int cpu) { return 0; }
static inline u64 sched_steal_clock_test_take(u64 max_ns) { return 0; }

#endif /* CONFIG_SCHED_STEAL_CLOCK_TEST */

#endif /* _LINUX_SCHED_STEAL_CLOCK_TEST_H */
