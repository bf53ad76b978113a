// SPDX-License-Identifier: GPL-2.0

#ifdef CONFIG_X86
#include <linux/cpufeature.h>

__rust_helper bool rust_helper_hypervisor_present(void)
{
	return boot_cpu_has(X86_FEATURE_HYPERVISOR);
}
#endif
