/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_SCHED_STEAL_SOURCE_H
#define _LINUX_SCHED_STEAL_SOURCE_H

/*
 * Steal source: where the kernel learns of stolen time, if it does at all. Zero
 * steal means "none was stolen" only with a source.
 */

#include <linux/types.h>

#ifdef CONFIG_SCHED_STEAL_SOURCE

/**
 * enum sched_steal_source - where stolen time comes from
 * @STEAL_SOURCE_NONE: nowhere, CPUTIME_STEAL stays zero
 * @STEAL_SOURCE_PARAVIRT: the hypervisor's steal clock
 * @STEAL_SOURCE_VTIME: native accounting, from a timer that runs with the CPU or
 *   a log of when it was dispatched
 */
enum sched_steal_source {
	STEAL_SOURCE_NONE,
	STEAL_SOURCE_PARAVIRT,
	STEAL_SOURCE_VTIME,
};

enum sched_steal_source sched_steal_source(void);
bool sched_steal_privileged(void);

#endif /* CONFIG_SCHED_STEAL_SOURCE */

#endif /* _LINUX_SCHED_STEAL_SOURCE_H */
