// SPDX-License-Identifier: GPL-2.0

#include <linux/topology.h>

__rust_helper const struct cpumask *rust_helper_topology_sibling_cpumask(int cpu)
{
	return topology_sibling_cpumask(cpu);
}

__rust_helper const struct cpumask *rust_helper_cpumask_of(unsigned int cpu)
{
	return cpumask_of(cpu);
}

__rust_helper int rust_helper_cpu_to_node(int cpu)
{
	return cpu_to_node(cpu);
}
