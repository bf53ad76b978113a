// SPDX-License-Identifier: GPL-2.0

#include <linux/topology.h>

__rust_helper const struct cpumask *rust_helper_cpu_smt_mask(int cpu)
{
	return cpu_smt_mask(cpu);
}

__rust_helper const struct cpumask *rust_helper_cpumask_of(unsigned int cpu)
{
	return cpumask_of(cpu);
}

__rust_helper int rust_helper_cpu_to_node(int cpu)
{
	return cpu_to_node(cpu);
}
