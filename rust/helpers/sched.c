// SPDX-License-Identifier: GPL-2.0

#include <linux/sched/isolation.h>

#ifndef CONFIG_CPU_ISOLATION
__rust_helper
const struct cpumask *rust_helper_housekeeping_cpumask(enum hk_type type)
{
	return housekeeping_cpumask(type);
}
#endif
