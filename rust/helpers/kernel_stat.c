// SPDX-License-Identifier: GPL-2.0

#include <linux/kernel_stat.h>

#ifndef CONFIG_VIRT_CPU_ACCOUNTING_GEN
__rust_helper u64 rust_helper_kcpustat_field(enum cpu_usage_stat usage, int cpu)
{
	return kcpustat_field(usage, cpu);
}
#endif
